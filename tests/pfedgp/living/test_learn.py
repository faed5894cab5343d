"""``pfedgp learn`` from the command line: accepted, refused, taken back, and the site's history."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.samples import Split
from pfedgp_core.site.forgetting import chosen_rows, forget
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import TENSORS
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import CLASSES, data


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    named_site(range(60)).save(tmp_path / "ward")
    write(tmp_path / "new.npz", data(20, seed=7))
    return tmp_path / "ward"


def write(path: Path, split: Split) -> None:
    np.savez(path, x=split.inputs, y=np.array(CLASSES)[split.labels])


def ran(ward: Path, capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    assert main(["learn", "--site", str(ward), *options, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_learn_undo_and_history(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (ward / TENSORS).read_bytes()
    found = ran(ward, capsys, "--data", str(ward.parent / "new.npz"), "--by", "nurse")
    assert found["accepted"]
    assert (found["samples"], found["total"], found["by"]) == (20, 80, "nurse")
    assert found["data_sha256"] == SavedSite.load(ward).samples.sha256
    assert (ward / TENSORS).read_bytes() != before
    assert ran(ward, capsys, "--undo")["total"] == 60
    assert (ward / TENSORS).read_bytes() == before
    assert [event["verb"] for event in ran(ward, capsys, "--history")["events"]] == ["learn", "undo"]


def test_the_command_that_takes_samples_back_works_as_it_is_printed(
    ward: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (ward / TENSORS).read_bytes()
    spaced = ward.rename(ward.parent / "ward 3")
    assert main(["learn", "--site", str(spaced), "--data", str(ward.parent / "new.npz")]) == 0
    said = capsys.readouterr().out.strip().rpartition("Take them back with: ")[2]
    assert main(shlex.split(said)[1:]) == 0
    assert (spaced / TENSORS).read_bytes() == before


def test_a_refusal_leaves_the_site(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = data(20, seed=7)
    write(ward.parent / "wrong.npz", Split(split.inputs, np.array([1, 3, 0])[np.searchsorted([0, 1, 3], split.labels)]))
    before = [path.read_bytes() for path in sorted(ward.iterdir())]
    found = ran(ward, capsys, "--data", str(ward.parent / "wrong.npz"), code=3)
    assert not found["accepted"]
    assert found["data_sha256"] == SavedSite.load(ward).samples.sha256
    assert [path.read_bytes() for path in sorted(ward.iterdir())] == before


def test_what_onboard_added_can_be_taken_back(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (ward / TENSORS).read_bytes()
    assert main(["onboard", "--out", str(ward), "--add", str(ward.parent / "new.npz")]) == 0
    capsys.readouterr()
    assert ran(ward, capsys, "--undo")["samples"] == 20
    assert (ward / TENSORS).read_bytes() == before


def test_one_thing_at_a_time(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "--site", str(ward), "--undo", "--history"]) == 2
    assert "Give one of" in capsys.readouterr().err


def test_copies_and_contradictions_are_named(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = data()
    labels = known.labels[:3].copy()
    labels[2] = 0
    write(ward.parent / "known.npz", Split(known.inputs[:3], labels))
    main(["learn", "--site", str(ward), "--data", str(ward.parent / "known.npz"), "--json"])
    found = capsys.readouterr()
    assert json.loads(found.out)["copies"] == 2
    assert json.loads(found.out)["contradictions"] == ["3"]
    assert "2 samples with a copy at the site" in found.err
    assert "Make sure of the labels of 3." in found.err


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\x1b[2J", "a\u202eb", " ", "a" * 101])
@pytest.mark.parametrize("verb", [["learn", "--undo"], ["forget", "--id", "a4"]])
def test_a_name_that_would_spoil_the_history_is_refused(
    verb: list[str], name: str, ward: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, "--site", str(ward), "--by", name]) == 2
    said = capsys.readouterr().err
    assert "--by '" in said
    assert said.count("\n") == 1
    assert "\t" not in said
    assert len(SavedSite.load(ward).samples) == 60


def test_the_history_has_five_columns_whoever_did_it(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = SavedSite.load(ward)
    forget(site, chosen_rows(site, ["a4"], []), "a\tb\nc").after.save(ward, replace=True)
    assert main(["learn", "--site", str(ward), "--history"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("\t") for line in lines] == [4, 4]
    assert "\ta\\tb\\nc\t" in lines[1]
