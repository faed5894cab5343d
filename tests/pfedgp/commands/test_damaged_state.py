"""Damaged checkpoints, runs and sites: a sentence with the file's name, and exit code 1."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from scripts.fuzzing import seeds
from tests.damaged import DEEP, DIGITS, ODD, ends, made_odd


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has its settings and a checkpoint."""
    folder = tmp_path_factory.mktemp("run") / "run"
    seeds.checkpoint(folder)
    from server.run.settings import dump_settings

    (folder / "config.toml").write_text(f'# engine: "simulation"\n{dump_settings(seeds.settings())}')
    return folder


@pytest.fixture
def run(cut_off: Path, tmp_path: Path) -> Path:
    return shutil.copytree(cut_off, tmp_path / "run")


def checkpoint(run: Path) -> Path:
    return run / "checkpoints" / "round-000007.safetensors"


def test_a_checkpoint_that_is_a_link_to_itself(run: Path) -> None:
    checkpoint(run).unlink()
    checkpoint(run).symlink_to(checkpoint(run))
    ends(["resume", str(run)], 1, r"round-000007\.safetensors.*symbolic links")


def test_a_checkpoint_that_is_no_file(run: Path) -> None:
    for kind in ODD:
        made_odd(checkpoint(run), kind)
        ends(["resume", str(run)], 1, r"round-000007\.safetensors")
    checkpoint(run).unlink()
    checkpoint(run).mkdir()
    ends(["resume", str(run)], 1, "it is a folder")


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\xff" * 100, DEEP.encode(), (10**6).to_bytes(8, "little") + b"[" * 10**6], ids=range(5)
)
def test_a_checkpoint_of_other_content(content: bytes, run: Path) -> None:
    checkpoint(run).write_bytes(content)
    ends(["resume", str(run)], 1, r"No checkpoint in .* is whole \(round-000007")


@pytest.mark.parametrize("content", ["rounds = " + DEEP, "rounds = " + DIGITS, "a = =", "\0"], ids=range(4))
def test_settings_of_a_run_that_are_damaged(content: str, run: Path) -> None:
    (run / "config.toml").write_text(content)
    ends(["resume", str(run)], 1, r"config\.toml cannot be read")
    ends(["report", str(run)], 1, r"config\.toml cannot be read")


@pytest.mark.parametrize("name", ["summary.json", "calibration.json", "metrics.jsonl", "certificates.json"])
@pytest.mark.parametrize(
    "content", [f"{DEEP}\n{{}}\n", f'{{"round": {DIGITS}}}\n', '{"round": 1e999}\n', "\0\n\n"], ids=range(4)
)
def test_files_of_a_run_that_are_damaged(name: str, content: str, run: Path) -> None:
    (run / name).write_text(content)
    ends(["report", str(run)], 1, re.escape(name))


@pytest.mark.parametrize(
    "line", ['{"failed": {}}', '{"round": -1, "failed": {}, "seconds": {}}', '{"round": 1, "failed": 3, "seconds": {}}']
)
def test_a_line_of_metrics_that_is_no_record(line: str, run: Path) -> None:
    (run / "metrics.jsonl").write_text(line + "\n")
    ends(["report", str(run)], 1, r"metrics\.jsonl")


def test_files_of_a_run_that_are_no_files(run: Path) -> None:
    for kind in ODD:
        made_odd(run / "summary.json", kind)
        ends(["report", str(run)], 1, r"summary\.json")


def test_nothing_there_is_a_mistake_of_the_command(tmp_path: Path) -> None:
    ends(["report", str(tmp_path)], 2, "no run in")
    ends(["resume", str(tmp_path)], 2)
    ends(["predict", "--site", str(tmp_path), "--data", "x.npz", "--out", "-"], 2, "no complete site|no site")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    seeds.site(folder)
    np.savez(folder.parent / "new.npz", x=np.zeros((2, 5)))
    return folder


@pytest.mark.parametrize("name", ["site.json", "site.safetensors"])
def test_a_site_that_is_damaged(name: str, saved: Path, tmp_path: Path) -> None:
    site = shutil.copytree(saved, tmp_path / "site")
    command = ["predict", "--site", str(site), "--data", str(saved.parent / "new.npz"), "--out", "-"]
    ends(command, 0)
    for content in (
        DEEP.encode(),
        b"{" * 1000,
        b"\xff" * 1000,
        b'{"format": "pfedgp-site", "x": ' + DIGITS.encode() + b"}",
    ):
        (site / name).write_bytes(content)
        ends(command, 1, re.escape(str(site)))
    for kind in ODD:
        made_odd(site / name, kind)
        ends(command, 1, re.escape(str(site)))
