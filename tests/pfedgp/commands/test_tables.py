"""Tables as hospitals have them, in ``check-data``, ``onboard`` and ``predict``: chosen columns, names, rules."""

import csv
import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.column_rules import rules_text
from pfedgp_core.config import Settings
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.saved import SavedSite
from server.run.artefacts import RunFolder

RULES = {
    "sex": {"kind": "category", "values": ["f", "m"]},
    "crp": {"kind": "number", "missing": 0.5, "indicator": True},
}
HEAD = "pid,age,sex,crp,ward,label"
ROWS = [
    f"P{i:02},{40 + 3 * i},{'fm'[i % 2]},{'' if i % 5 == 0 else i / 10},north,{('ill', 'well')[i % 2]}"
    for i in range(20)
]
INPUTS = ("age", "sex=m", "crp", "crp missing")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model with rules, a table of a site, and new samples whose columns are in another order and partly others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    settings = Settings(network="mlp", feature_dim=4, column_rules=rules_text(RULES))
    about = {
        "settings": settings.to_run_config(),
        "class_names": ["ill", "well"],
        "input_shape": [4],
        "normalisation": {"mean": [70.0, 0.5, 1.0, 0.2], "std": [17.0, 0.5, 0.6, 0.4]},
        "columns": list(INPUTS),
    }
    Path("run").mkdir()
    RunFolder(Path("run"), {}).save_model("best", SharedState.initial(settings, (4,), 2).to_vector(), about)
    Path("a.csv").write_text("\n".join([HEAD, *ROWS]) + "\n")
    Path("new.csv").write_text("crp;sex;age;pid\n0,5;m;50,5;=A1\n;f;60;B2\n")
    return tmp_path


def onboard(*more: str, data: str = "a.csv", out: str = "site") -> int:
    return main(["onboard", "--model", "run/best", "--data", data, "--out", out, "--name", "ward", *more])


def predictions(*more: str) -> list[dict[str, str]]:
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv", *more]) == 0
    with Path("p.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_site_keeps_its_choice_of_columns_and_predicts_by_it(here: Path) -> None:
    assert onboard("--drop", "ward", "--id-column", "pid") == 0
    site = SavedSite.load("site")
    assert site.columns == INPUTS
    assert json.loads(Path("site/site.json").read_text())["table"] == {"drop": "ward", "id-column": "pid"}
    rows = predictions()
    assert [row["id"] for row in rows] == ["'=A1", "B2"]  # which a spreadsheet would take for a formula
    Path("new.csv").write_text("age,crp,pid,sex,ward\n50.5,0.5,=A1,m,south\n60,,B2,f,7\n")
    assert predictions() == rows


def test_other_columns_can_name_the_samples(here: Path) -> None:
    assert onboard("--columns", "age,sex,crp") == 0
    Path("new.csv").write_text("age,sex,crp,name\n50,m,1,x\n60,f,2,y\n")
    assert [row["id"] for row in predictions("--id-column", "name")] == ["x", "y"]
    assert [row["id"] for row in predictions()] == ["1", "2"]


def test_more_data_are_read_as_the_first(here: Path) -> None:
    assert onboard("--drop", "ward,pid") == 0
    Path("more.csv").write_text("\n".join([HEAD, "Q1,33,m,9,south,ill"]) + "\n")
    assert main(["onboard", "--out", "site", "--add", "more.csv"]) == 0
    assert len(SavedSite.load("site").samples) == 21
    assert SavedSite.load("site").choice.drop == ("ward", "pid")


def test_what_a_rule_does_not_know_is_refused_in_new_samples(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard("--drop", "ward,pid") == 0
    Path("new.csv").write_text("age,sex,crp\n50,w,1\n")
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "-"]) == 2
    assert "The rule of the column 'sex' knows f, m, and not 'w'" in capsys.readouterr().err


def test_check_data_takes_rules_from_a_model_or_a_file_and_drafts_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-data", "a.csv", "--drop", "ward", "--id-column", "pid", "--rules", "rules.toml"]) == 2
    said = capsys.readouterr().out
    assert "Something else than numbers in the column 'sex'" in said
    assert 'note: The sites of a run agree on rules by themselves with column-rules-from = "federated".' in said
    draft = Path("rules.toml").read_text()
    assert '[data.columns."crp"]\nkind = "number"\nmissing = ' in draft
    assert main(["check-data", "a.csv", "--drop", "ward,pid", "--config", "rules.toml"]) == 0
    assert main(["check-data", "a.csv", "--drop", "ward,pid", "--model", "run/best"]) == 0
    assert main(["check-data", "a.csv", "--model", "run/best"]) == 2
    assert "has the columns 'pid', 'ward' beside the expected ones" in capsys.readouterr().out


def test_check_data_says_what_memory_a_large_table_takes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{i % 97},{i % 89},{'ab'[i % 2]}" for i in range(2_000)]
    Path("large.csv").write_text("\n".join(["u,v,label", *rows]) + "\n")
    assert main(["check-data", "large.csv"]) == 0
    assert "With all 2000 samples for training a run needs at least " in capsys.readouterr().out
    Path("small.csv").write_text("\n".join(["u,v,label", *rows[:1_999]]) + "\n")
    assert main(["check-data", "small.csv"]) == 0
    assert "for training a run needs" not in capsys.readouterr().out


def test_rows_of_a_patient_stay_together_and_new_samples_need_no_patient(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-data", "a.csv", "--drop", "ward", "--group-column", "pid", "--model", "run/best"]) == 0
    assert "20 groups of samples, each of which stays in one split" in capsys.readouterr().out
    assert onboard("--drop", "ward", "--group-column", "pid") == 0
    assert SavedSite.load("site").choice.drop == ("ward", "pid")
    with_patients = predictions()
    Path("new.csv").write_text("age,sex,crp\n50.5,m,0.5\n60,f,\n")
    assert predictions() == with_patients


def test_rows_that_are_like_no_sample_are_flagged(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard("--drop", "ward,pid") == 0
    rows = predictions("--min-typical", "0.5")
    assert [row["abstain"] for row in rows] == [str(int(float(row["typical"]) < 0.5)) for row in rows]
    assert "to abstain from" in capsys.readouterr().err
    assert all(row["abstain"] == "0" for row in predictions("--min-typical", "0.01"))
    assert "The site has 20 different samples, too few" in capsys.readouterr().err
    assert "typical" not in predictions()[0]
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "-", "--min-typical", "2"]) == 2


def test_a_prior_is_said_and_wrong_ones_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard("--drop", "ward,pid") == 0
    even = predictions("--prior", "balanced")
    assert "corrected to the prior balanced" in capsys.readouterr().err
    assert even == predictions()  # the site has as many of each class
    rare = predictions("--prior", "ill=0.001,well=0.999")
    assert [row["predicted"] for row in rare] == ["well", "well"]
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "-", "--prior", "sick=1"]) == 2
    assert "give balanced, or one share for each of ill, well" in capsys.readouterr().err
