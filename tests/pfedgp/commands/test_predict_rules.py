"""``pfedgp predict`` with a stated risk and with prediction sets."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.certificate.selective import choose_threshold, from_bins
from pfedgp_core.files.csv_text import split_names
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from tests.table_site import COLUMNS, rows, table_site

RISK = ("--risk", "0.3", "--delta", "0.1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    table_site().save("site")
    write("new.csv", rows(500, seed=3))
    write("kept.csv", rows(300, seed=4))
    return tmp_path


def names(inputs: np.ndarray) -> list[str]:
    return ["well" if total > 0 else "ill" for total in inputs.sum(axis=1)]


def write(name: str, inputs: np.ndarray) -> None:
    with Path(name).open("w", newline="") as file:
        table = [[*row, label] for row, label in zip(inputs.tolist(), names(inputs), strict=True)]
        csv.writer(file).writerows([(*COLUMNS, "label"), *table])


def predict(*options: str) -> list[dict[str, str]]:
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv", *options]) == 0
    with Path("p.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def refusal(capsys: pytest.CaptureFixture[str], *options: str, code: int = 2) -> str:
    capsys.readouterr()
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv", *options]) == code
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_a_risk_by_kept_out_samples(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = predict(*RISK, "--calibration", "kept.csv")
    said = capsys.readouterr().err
    assert "at most 0.3 of the answers are wrong, with probability 0.9" in said
    assert "of 300 kept-out samples of this site" in said
    answered = [row for row in found if row["abstain"] == "0"]
    truth = names(rows(500, seed=3))
    wrong = [row for row in answered if row["predicted"] != truth[int(row["id"]) - 1]]
    assert answered
    assert len(wrong) / len(answered) <= 0.3 + 3 * np.sqrt(0.21 / len(answered))
    assert list(found[0])[-1] == "abstain"
    assert "no test" not in said


def test_the_accuracy_of_the_answers_that_are_given_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, truth = predict("--min-confidence", "0.8"), names(rows(500, seed=3))
    answered = [row for row in found if row["abstain"] == "0"]
    right = sum(row["predicted"] == truth[int(row["id"]) - 1] for row in answered)
    assert 0 < len(answered) < len(found)
    share = f"{right / len(answered):.1%} of the {len(answered)} not abstained from"
    assert f"by the data's own labels ({share}); saved" in capsys.readouterr().err


@pytest.mark.parametrize("options", [RISK, ("--sets", "0.9")])
def test_samples_that_chose_the_rule_do_not_test_it(
    options: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("kept.csv", "copy.csv")
    for data in ("./kept.csv", "copy.csv"):
        predict(*options, "--calibration", "kept.csv", "--data", data)
        assert "The samples are those of --calibration" in capsys.readouterr().err


def test_a_risk_by_the_federation_s_bins(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = rows(800, seed=6)
    truth = np.array(names(inputs)) == "well"
    sums = metric_sums(table_site().predict(inputs).probabilities, truth.astype(int))
    at = {"temperature": 0.5, "validation": sums.to_dict(), "test": sums.to_dict()}
    Path("calibration.json").write_text(json.dumps({"temperatures": [at]}))
    by_bins(sums, sums, capsys)


def test_a_risk_at_the_model_s_temperature_by_its_own_bins(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The site has temperature 0.5; the validation sums of the nearest other temperature say where the order begins."""
    inputs = rows(800, seed=6)
    truth = (np.array(names(inputs)) == "well").astype(int)
    own = metric_sums(table_site().predict(inputs).probabilities, truth)
    near, far = (metric_sums(table_site().predict(inputs, t).probabilities, truth) for t in (0.4, 2.0))
    grid = [
        {"temperature": t, "validation": sums.to_dict(), "test": MetricSums.zero().to_dict()}
        for t, sums in ((0.4, near), (2.0, far))
    ]
    content = {"model_temperature": 0.5, "at_model_temperature": own.to_dict(), "temperatures": grid}
    Path("calibration.json").write_text(json.dumps(content))
    by_bins(own, near, capsys)


def by_bins(sums: MetricSums, reference: MetricSums, capsys: pytest.CaptureFixture[str]) -> None:
    """Predictions abstain by the federation's bins, and a temperature that it has no sums at is refused."""
    found = predict(*RISK, "--calibration", "calibration.json")
    rule = choose_threshold(from_bins(sums, reference, 0.1), sums.n, 0.3, 0.1)
    said = capsys.readouterr().err
    assert f"From confidence {rule.threshold:.4g} on" in said
    assert "no site named" not in said  # of this model it is not known who trained it
    for row in found:
        largest = max(float(row["p:ill"]), float(row["p:well"]))
        assert row["abstain"] == str(int(largest < rule.threshold))
    assert "no sums at temperature 1" in refusal(
        capsys, *RISK, "--calibration", "calibration.json", "--temperature", "1"
    )
    Path("calibration.json").write_text(json.dumps({"temperatures": [{"temperature": 0.5}]}))
    assert "is no calibration.json" in refusal(capsys, *RISK, "--calibration", "calibration.json")


@pytest.mark.parametrize(("participants", "stranger"), [(("ward-3", "ward-4"), False), (("ward-4",), True)])
def test_a_site_that_did_not_train_is_told_whose_risk_it_is(
    participants: tuple[str, ...], stranger: bool, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site, inputs = table_site(), rows(800, seed=6)
    site = replace(site, model=replace(site.model, participants=participants))
    site.save("trained")
    sums = metric_sums(site.predict(inputs).probabilities, (np.array(names(inputs)) == "well").astype(int))
    at = {"temperature": 0.5, "validation": sums.to_dict(), "test": sums.to_dict()}
    Path("calibration.json").write_text(json.dumps({"temperatures": [at]}))
    predict(*RISK, "--calibration", "calibration.json", "--site", "trained")
    words = "no site named 'ward-3' trained this model, so it holds here if these samples are like theirs"
    assert (words in capsys.readouterr().err) is stranger


def test_sets(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = names(rows(500, seed=3))
    for options, proved in ((("--calibration", "kept.csv"), "proved for samples"), ((), "an estimate without proof")):
        found = predict("--sets", "0.9", *options)
        assert proved in capsys.readouterr().err
        members = [split_names(row["set"]) for row in found]
        share = np.mean([label in inside for label, inside in zip(truth, members, strict=True)])
        assert 0.8 <= share < 1.0
        assert {len(inside) for inside in members} <= {0, 1, 2}
    by_class = predict("--sets", "0.9", "--sets-by-class", "--calibration", "kept.csv")
    assert "each class by itself" in capsys.readouterr().err
    assert list(by_class[0])[-2:] == ["abstain", "set"]
    typical = predict("--sets", "0.9", "--calibration", "kept.csv", "--min-typical", "0.05")
    assert list(typical[0])[-3:] == ["abstain", "typical", "set"]
    assert [row["set"] for row in typical] == [
        row["set"] for row in predict("--sets", "0.9", "--calibration", "kept.csv")
    ]


def test_a_participant_needs_kept_out_samples_for_sets(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = table_site()
    replace(site, model=replace(site.model, participants=("ward-3",))).save("site", replace=True)
    assert "took part in the training" in refusal(capsys, "--sets", "0.9")
    predict("--sets", "0.9", "--calibration", "kept.csv")


def test_a_risk_that_cannot_be_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "--risk", "0.001", "--calibration", "kept.csv")
    assert "at least 2995 answers without an error are needed" in said
    assert not Path("p.csv").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--risk", "0"), "--risk 0 is not between 0 and 1"),
        (("--sets", "1.5"), "--sets 1.5 is not between 0 and 1"),
        (("--risk", "0.1"), "--risk needs labelled samples"),
        (("--risk", "0.1", "--calibration", "kept.csv", "--min-confidence", "0.5"), "give one of them"),
        (("--risk", "0.1", "--calibration", "kept.csv", "--min-typical", "0.05"), "--min-typical would leave some"),
        (("--sets", "0.9", "--prior", "balanced"), "leave out --prior"),
        (("--delta", "0.1"), "--delta is the probability"),
        (("--sets-by-class",), "--sets-by-class says how"),
        (("--calibration", "kept.csv"), "--calibration is for --risk and --sets"),
        (("--risk", "0.1", "--calibration", "none.json"), "none.json cannot be read"),
    ],
)
def test_mistakes(options: tuple[str, ...], text: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert text in refusal(capsys, *options)
