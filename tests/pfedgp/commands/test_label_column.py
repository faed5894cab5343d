"""The column of classes is named once, at the onboarding: the site's later verbs know it."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import checksum
from tests.ordered_tables import NAMES, ordered_table
from tests.pfedgp.commands.test_columns import save_model


def outcome_table(path: Path, seed: int) -> None:
    ordered_table(path, seed)
    path.write_text(path.read_text().replace("label", "outcome", 1))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_model(Path("run"), columns=list(NAMES))
    for name, seed in (("a", 1), ("new", 2), ("kept", 3)):
        outcome_table(Path(f"{name}.csv"), seed)
    ordered_table(Path("bare.csv"), 2, labels=False)
    argv = ["onboard", "--model", "run/best", "--data", "a.csv", "--label-column", "outcome", "--out", "site"]
    assert main(argv) == 0
    return tmp_path


@pytest.mark.parametrize(
    "argv",
    [
        ["predict", "--data", "new.csv", "--out", "p.csv"],
        ["predict", "--data", "bare.csv", "--out", "p.csv"],
        ["predict", "--data", "new.csv", "--out", "p.csv", "--calibration", "kept.csv", "--sets", "0.9"],
        ["certify", "--method", "held-out", "--data", "kept.csv"],
        ["certify", "--unlabelled", "new.csv", "--unseen"],
        ["watch", "--data", "new.csv"],
        ["suggest", "--pool", "new.csv", "--count", "3"],
    ],
    ids=lambda argv: " ".join(argv[:4]),
)
def test_verbs_of_a_site_use_the_column_that_it_was_made_with(argv: list[str], here: Path) -> None:
    assert main([argv[0], "--site", "site", *argv[1:]]) == 0


def test_a_table_with_and_without_the_column_is_predicted_alike(here: Path) -> None:
    for data in ("new", "bare"):
        assert main(["predict", "--site", "site", "--data", f"{data}.csv", "--out", f"{data}.out"]) == 0
    assert Path("new.out").read_bytes() == Path("bare.out").read_bytes()


def test_learning_adding_and_forgetting_keep_it(here: Path) -> None:
    assert main(["learn", "--site", "site", "--data", "new.csv"]) in (0, 3)
    assert main(["onboard", "--out", "site", "--add", "kept.csv"]) == 0
    assert main(["forget", "--site", "site", "--id", "1", "--repeated"]) == 0
    assert SavedSite.load("site").label_column == "outcome"


def test_a_given_column_goes_before_the_sites(here: Path) -> None:
    ordered_table(Path("usual.csv"), 2)
    argv = ["predict", "--site", "site", "--data", "usual.csv", "--out", "p.csv"]
    assert main(argv) == 2
    assert main([*argv, "--label-column", "label"]) == 0


def test_a_site_of_a_former_version_works_as_before_and_is_told_at_a_refresh(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("site/site.json")
    about = json.loads(file.read_text())
    del about["label_column"], about["checksum"]
    file.write_text(json.dumps(about | {"checksum": checksum(about)}))
    new = ["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]
    assert main(new) == 2
    assert main([*new, "--label-column", "outcome"]) == 0
    capsys.readouterr()
    refresh = ["onboard", "--refresh", "--out", "site", "--data", "a.csv"]
    assert main([*refresh, "--label-column", "outcome"]) == 0
    assert "The column of classes changed ('label' to 'outcome')." in capsys.readouterr().out
    assert main(new) == 0
    assert main(refresh) == 0
    assert "Neither the model nor the data changed." in capsys.readouterr().out
