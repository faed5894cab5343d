"""Rules on which sites agreed, after the training: onboard, predict, serve and check-data apply them to a new site."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.serving.bodies import Reader
from pfedgp.serving.work import Work
from pfedgp_core.config import Settings
from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.saved import SavedSite
from server.run.artefacts import RunFolder
from tests.ward_tables import rules_by_hand, ward, write

INPUTS = ("age", "crp", "crp missing", "stage=I", "stage=II", "stage=III", "stage=IV", "smoker")
V = "The column 'stage' holds 'V', 'rare-7' in 21 of 40 rows (the first is row 1), which the federation does not know"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model with the rules of three wards, and the table of a ward that was none of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    settings = Settings(network="mlp", feature_dim=4, column_rules_from="federated").with_rules(rules_by_hand())
    about = {
        "settings": settings.to_run_config(),
        "class_names": ["ill", "well"],
        "input_shape": [len(INPUTS)],
        "normalisation": {"mean": [54.0, 1.4, 0.1, 0.3, 0.3, 0.2, 0.2, 0.8], "std": [8.0, 0.9, *[0.4] * 6]},
        "columns": list(INPUTS),
    }
    Path("run").mkdir()
    vector = SharedState.initial(settings, (len(INPUTS),), 2).to_vector()
    RunFolder(Path("run"), {}).save_model("best", vector, about)
    write(Path("a.csv"), ward(7, ("II", "V")))
    return tmp_path


def test_check_data_and_onboard_name_what_the_federation_does_not_know(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-data", "a.csv", "--model", "run/best"]) == 0
    assert V in capsys.readouterr().out
    assert main(["onboard", "--model", "run/best", "--data", "a.csv", "--out", "site", "--name", "late"]) == 0
    assert V in capsys.readouterr().out
    site = SavedSite.load("site")
    assert site.columns == INPUTS
    assert json.loads(Path("site/site.json").read_text())["settings"]["column-rules"] == rules_by_hand()


def test_new_samples_are_encoded_alike_and_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["onboard", "--model", "run/best", "--data", "a.csv", "--out", "site", "--name", "late"])
    Path("new.csv").write_text("stage,smoker,crp,age\nVI,no,,60\nII,perhaps,1.5,\n")
    capsys.readouterr()
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]) == 0
    said = capsys.readouterr().err
    assert (
        "'stage' holds 'VI' in 1 of 2 rows (the first is row 1), which the federation does not know: taken as " in said
    )
    assert "'smoker' holds 'perhaps' in 1 of 2 rows (the first is row 2)" in said
    site = SavedSite.load("site")
    samples = read_samples("new.csv", labelled=False, layout=Layout(rules=rules_by_hand()))
    filled = json.loads(rules_by_hand())
    wanted = {name: filled[name]["missing"] for name in ("age", "crp")}
    rows = [dict(zip(samples.columns, row, strict=True)) for row in samples.inputs.tolist()]
    assert rows[0] == pytest.approx(dict.fromkeys(INPUTS, 0.0) | {"age": 60, "crp": wanted["crp"], "crp missing": 1.0})
    assert rows[1] == pytest.approx(
        dict.fromkeys(INPUTS, 0.0) | {"age": wanted["age"], "crp": 1.5, "stage=II": 1.0, "smoker": 1.0}
    )
    reader = Reader(site.model.input_shape, site.columns, rules=site.model.settings.column_rules)
    body = json.dumps({"inputs": [{"age": 60, "crp": None, "stage": "VI", "smoker": "no"}]}).encode()
    answer = Work(site, reader).as_json("JSON", body, None, 0.0)
    assert "'stage' holds 'VI'" in answer["notes"][0]
    inputs = samples.inputs[:, [samples.columns.index(name) for name in site.columns]]
    assert answer["predictions"][0]["probabilities"] == pytest.approx(site.predict_proba(inputs)[0].tolist(), abs=1e-6)


def test_check_data_with_the_run_s_settings_notes_what_the_sites_will_agree_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run.toml").write_text('column-rules-from = "federated"\n')
    write(Path("gaps.csv"), ward(0))
    assert main(["check-data", "gaps.csv"]) == 2
    assert main(["check-data", "gaps.csv", "--config", "run.toml"]) == 0
    said = capsys.readouterr().out
    assert "note: The sites of this run agree on rules for 'crp', 'stage' before round 1" in said
    told = said[said.index("Where sites agree on rules, the server is told of 40 rows, never of fewer than 5:") :]
    assert "  crp: numbers, mean " in told
    assert "; 7 gaps\n" in told
    assert "  stage: texts: I (" in told
    assert "number withheld" in told
    assert "rare" not in told.splitlines()[3]
    assert "  smoker: true and false: " in told


@pytest.mark.slow
def test_a_simulation_agrees_and_onboards_a_site_with_another_text(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path("all.csv"), [{"ward": str(i), **row} for i in range(3) for row in ward(i)])
    options = ["--partition-by", "ward", "--set", "column-rules-from=federated", "--set", "network=mlp"]
    few = ["--rounds", "2", "--workers", "1", "--out", "simulated"]
    assert main(["simulate", "--dataset", "all.csv", *options, *few]) == 0
    capsys.readouterr()
    assert main(["onboard", "--model", "simulated/best", "--data", "a.csv", "--out", "late"]) == 0
    assert V in capsys.readouterr().out
    assert SavedSite.load("late").columns == INPUTS
