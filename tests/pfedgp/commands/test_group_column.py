"""The column of groups is named once, at the onboarding: what the site learns later has its groups too."""

from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.data.own.groups import group_hashes
from pfedgp_core.site.saved import SavedSite
from tests.ordered_tables import NAMES, ordered_table
from tests.pfedgp.commands.test_columns import save_model


def with_patients(path: Path, seed: int, start: int) -> None:
    """A table whose rows are of patients, two rows each."""
    ordered_table(path, seed)
    head, *rows = path.read_text().splitlines()
    named = [f"{row},p{start + i // 2}" for i, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},patient", *named]) + "\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_model(Path("run"), columns=list(NAMES))
    with_patients(Path("a.csv"), 1, 0)
    with_patients(Path("new.csv"), 2, 1000)
    argv = ["onboard", "--model", "run/best", "--data", "a.csv", "--group-column", "patient", "--out", "site"]
    assert main(argv) == 0
    return tmp_path


def groups() -> set[str]:
    return {origin.group for origin in SavedSite.load("site").samples.origins}


@pytest.mark.parametrize(
    "argv", [["learn", "--site", "site", "--data", "new.csv"], ["onboard", "--out", "site", "--add", "new.csv"]]
)
def test_what_is_learned_can_be_forgotten_by_its_group(argv: list[str], here: Path) -> None:
    assert main(argv) == 0
    assert group_hashes(["p1003"])[0] in groups()
    before = len(SavedSite.load("site").samples)
    assert main(["forget", "--site", "site", "--group", "p1003"]) == 0
    after = SavedSite.load("site")
    assert (before - len(after.samples), after.group_column) == (2, "patient")
    assert after.choice.drop.count("patient") == 1


def test_a_refresh_keeps_the_groups(here: Path) -> None:
    former = groups()
    assert main(["onboard", "--out", "site", "--refresh", "--data", "a.csv"]) == 0
    assert groups() == former


def test_samples_without_groups_are_learned_and_that_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ordered_table(Path("bare.csv"), 3)
    assert main(["learn", "--site", "site", "--data", "bare.csv"]) == 0
    said = "Nothing names the groups of the new samples, as 'patient' in its former data does: forget --group will not"
    assert said in capsys.readouterr().err


def test_a_column_that_is_given_must_be_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ordered_table(Path("bare.csv"), 3)
    assert main(["learn", "--site", "site", "--data", "bare.csv", "--group-column", "patient"]) == 2
    assert "has no column 'patient' for the groups" in capsys.readouterr().err
