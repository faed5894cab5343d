"""``pfedgp partition``: the table, the digest, the figure, and nothing else."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.commands.partition import _printed
from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_partition


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["partition", *argv]) == 0
    return capsys.readouterr().out


def test_a_line_for_each_client(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--clients", "10").splitlines()
    assert [line.split()[0] for line in lines if line.startswith("client-")] == [f"client-{i:02d}" for i in range(10)]


def test_counts_of_a_client(capsys: pytest.CaptureFixture[str]) -> None:
    partition = simulated_partition(Settings())
    (line,) = [line for line in printed(capsys).splitlines() if line.startswith("client-07")]
    sizes = [str(partition.sizes(split)[7]) for split in ("train", "validation", "test")]
    assert line.split()[1:4] == sizes
    assert sum(map(int, line.split()[4:])) == int(sizes[0])


def test_the_digest_is_that_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = simulated_partition(Settings(partition="dirichlet", seed=3)).hash
    assert printed(capsys, "--partition", "dirichlet", "--seed", "3").splitlines()[-1] == f"hash: {wanted}"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(printed(capsys, "--json", "--set", "train-samples=500"))
    assert (shown["samples"]["train"], shown["left_out"], len(shown["clients"])) == (500, {"train": 578}, 20)


def test_what_is_left_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "left out: 578 train" in printed(capsys, "--set", "train-samples=500")


def test_noise_has_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    partition = simulated_partition(Settings(noise="imagenet-c"))
    assert partition.noise is not None
    (line,) = [x for x in printed(capsys, "--noise", "imagenet-c").splitlines() if x.startswith("client-07")]
    assert line.split()[4] == str(partition.noise.models[7])


def test_clients_that_do_not_train_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "clients that do not train, the last ones: 4" in printed(capsys, "--set", "novel-clients=4")


def test_regression(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--dataset", "diabetes", "--set", "task=regression", "--clients", "6")
    assert "samples: 265 train, 89 validation, 88 test; left out: none" in out


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<svg"), ("A.PNG", b"\x89PNG")])
def test_plot(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, start: bytes) -> None:
    text = printed(capsys, "--plot", str(tmp_path / name))
    assert text.splitlines()[-1] == f"drawn: {tmp_path / name}"
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--plot", "a.jpeg"], "--plot a.jpeg is neither .png nor .svg"),
        (["--clients", "7"], "clients = 7 with classes-per-client = 2 cannot hold"),
        (["--noise", "57"], "noise = '57' is not known; choose one of: none, imagenet-c, cifar-10-c"),
        (["--partition", "dirichlets"], "did you mean 'dirichlet'?"),
    ],
)
def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], argv: list[str], sentence: str) -> None:
    assert main(["partition", *argv]) == 2
    assert sentence in capsys.readouterr().err


def test_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed(capsys)
    assert list(tmp_path.iterdir()) == []


def test_the_settings_of_a_run_can_be_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('clients = 4\npartition = "homogeneous"\naggregation = "trimmed-mean"\ntrim-share = 0.2\n')
    assert "client-03" in printed(capsys, "--config", str(file))


def test_many_classes_share_a_column() -> None:
    held = {f"class {i}": 1 + i for i in range(3)}
    client = {"name": "client-00", "train": {"samples": 6, "classes": held}}
    shown = {"samples": {"train": 6}, "left_out": {}, "hash": "ab", "clients": [client]}
    lines = _printed(shown, [f"class {i}" for i in range(30)], "title", Settings())
    assert lines[3].split("  ")[-1] == "class 0 1, class 1 2, class 2 3"
