"""``pfedgp forget`` from the command line: receipt, refusals, and a kill at any moment."""

import json
import os
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import TENSORS
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import CLASSES, data
from tests.killed import die, finished


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    named_site(range(30), 30).save(tmp_path / "ward")
    return tmp_path / "ward"


def test_the_receipt_has_the_hashes_of_the_files(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = SavedSite.load(ward).samples.sha256
    assert main(["forget", "--site", str(ward), "--id", "a4", "--group", "patient 2", "--json"]) == 0
    found, after = json.loads(capsys.readouterr().out), SavedSite.load(ward)
    assert (found["data_sha256_before"], found["data_sha256_after"]) == (before, after.samples.sha256)
    assert (found["forgotten"], found["remaining"], len(after.samples)) == (11, 19, 19)
    assert found["tensors_sha256_after"] == json.loads((ward / "site.json").read_text())["tensors_sha256"]


def test_the_line_of_the_docs_checks_a_receipt(
    ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["forget", "--site", str(ward), "--group", "patient 2", "--by", "Zoë", "--json"]) == 0
    text = capsys.readouterr().out
    shown = (Path(__file__).parents[3] / "docs" / "living-site.md").read_text("utf-8")
    (line,) = (line for line in shown.splitlines() if line.startswith('python -c "import hashlib'))
    monkeypatch.chdir(tmp_path)
    for changed, said in ((text, "True\n"), (text.replace('"forgotten": 10', '"forgotten": 11'), "False\n")):
        Path("receipt.json").write_text(changed)
        exec(line.removeprefix('python -c "').removesuffix('"'), {})
        assert capsys.readouterr().out == said


def test_the_text_is_for_a_person(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", "--site", str(ward), "--id", "a4", "--unseen"]) == 0
    out = capsys.readouterr().out
    assert "1 sample, 29 remain" in out
    assert "carries nothing of this sample: by your word" in out


@pytest.mark.parametrize("options", [[], ["--id", "nobody"]])
def test_a_refusal_changes_nothing(ward: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = (ward / TENSORS).read_bytes()
    assert main(["forget", "--site", str(ward), *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert (ward / TENSORS).read_bytes() == before


def test_where_there_is_no_site_nothing_is_made(tmp_path: Path) -> None:
    assert main(["forget", "--site", str(tmp_path / "none" / "ward"), "--id", "a4"]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", range(4))
def test_a_kill_leaves_the_old_site_or_the_new_one(ward: Path, moment: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Before and after each of the two renames."""
    before = SavedSite.load(ward)
    real, seen = os.rename, []

    def rename(source: Path, target: Path) -> None:
        for step in (lambda: None, lambda: real(source, target)):
            step()
            seen.append(step)
            if len(seen) > moment:
                die()

    def run() -> None:
        with mock.patch.object(os, "rename", rename):
            main(["forget", "--site", str(ward), "--id", "a4"])

    assert not finished(run)
    left = {origin.id for origin in SavedSite.load(ward).samples.origins}
    assert left == {f"a{i}" for i in range(30)} - ({"a4"} if moment == 3 else set())
    capsys.readouterr()
    assert main(["forget", "--site", str(ward), "--id", "a4", "--json"]) == 0
    said = capsys.readouterr()
    receipt = json.loads(said.out)
    assert (receipt["forgotten"], receipt["remaining"]) == (1, 29)
    assert receipt["data_sha256_before"] == before.samples.sha256
    assert receipt["data_sha256_after"] == SavedSite.load(ward).samples.sha256
    assert "Removed what a killed command had left" in said.err
    assert ("gone already" in said.err) == (moment == 3)
    # Nothing of the old site lies beside the new one, whatever the kill has left there.
    assert sorted(path.name for path in ward.parent.iterdir()) == [".ward.lock", "ward"]


def test_another_request_after_a_kill_is_done_as_it_says(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a former folder that is not whole only leaves a note."""
    site = SavedSite.load(ward)
    site.save(ward.with_name(".ward.former"))
    assert main(["forget", "--site", str(ward), "--id", "a4"]) == 0
    site.save(ward.with_name(".ward.former"))
    assert main(["forget", "--site", str(ward), "--id", "a5"]) == 0
    site.save(ward.with_name(".ward.former"))
    (ward.with_name(".ward.former") / TENSORS).unlink()
    capsys.readouterr()
    assert main(["forget", "--site", str(ward), "--id", "a5"]) == 2
    assert "gone from there too" in capsys.readouterr().err
    assert {origin.id for origin in SavedSite.load(ward).samples.origins} == {f"a{i}" for i in range(30)} - {"a4", "a5"}
    assert not ward.with_name(".ward.former").exists()


@pytest.mark.parametrize("verb", ["learn", "watch", "onboard"])
def test_every_verb_that_changes_a_site_sweeps(verb: str, ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (".ward.former", ".ward.4711"):
        SavedSite.load(ward).save(ward.with_name(name))
    split = data(20, seed=7)
    np.savez(ward.parent / "new.npz", x=split.inputs, y=np.array(CLASSES)[split.labels])
    new = str(ward.parent / "new.npz")
    argv = ["--out", str(ward), "--add", new] if verb == "onboard" else ["--site", str(ward), "--data", new]
    assert main([verb, *argv]) == 0
    said = capsys.readouterr()
    assert "Removed what a killed command had left" in said.out + said.err
    assert [path.name for path in ward.parent.iterdir() if path.name.startswith(".ward")] == [".ward.lock"]
