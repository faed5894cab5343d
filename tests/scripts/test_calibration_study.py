"""experiments/calibration_study.py: a tiny study goes on where it was; its tables say what is missing and missed."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.errors import ConfigError

pytestmark = pytest.mark.slow

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
TINY = ["--datasets", "digits", "--samples", "11", "--seeds", "0", "--budget", "0.02"]


def module(name: str) -> ModuleType:
    """Of the folder of scripts, which find each other there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXPERIMENTS)
        return importlib.import_module(name)


study, answers, tables = map(module, ("calibration_study", "calibration_answers", "calibration_tables"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study")
    for way in ("default", "fedavg"):
        study.main(["--out", str(path), *TINY, "--ways", way])
    return path


def rows(folder: Path, way: str = "default") -> list[dict[str, float]]:
    found: list[dict[str, float]] = json.loads((folder / "cells" / f"digits-11-{way}-0.json").read_text())["rows"]
    return found


def test_a_cell_has_both_kinds_of_clients_every_classifier_and_rule(folder: Path) -> None:
    found = {(row["population"], row["head"], row["rule"]) for row in rows(folder)}
    trees = {(p, h, r) for p in (answers.SEEN, answers.UNSEEN) for h in ("default", "gp-white") for r in answers.RULES}
    others = ("softmax-own", "softmax-pooled", "logistic", "lda", "class-mean")
    floors = {(p, h, r) for p in (answers.SEEN, answers.UNSEEN) for h in others for r in answers.RULES[:2]}
    assert found == trees | floors
    assert {row["head"] for row in rows(folder, "fedavg")} == {"fedavg", "fedavg-tuned"}


def test_the_model_s_temperature_is_that_of_the_clients_that_are_seen(folder: Path) -> None:
    chosen = {(row["head"], row["round"], row["temperature"]) for row in rows(folder) if row["rule"] == "model's"}
    assert len(chosen) == len({each[:2] for each in chosen})


def test_a_cell_that_is_done_is_not_run_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "run", lambda *_: pytest.fail("it ran again"))
    study.main(["--out", str(folder), *TINY, "--ways", "default"])
    printed = capsys.readouterr().out
    assert "1 cell," in printed
    assert "Budget 0.02" in printed


def test_cells_that_are_not_there_are_named(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--out", str(folder), *TINY, "--ways", "default", "loo", "--table", "--csv", str(tmp_path / "all.csv")]
    study.main(given)
    assert "Not run: digits-11-loo-0." in capsys.readouterr().out
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + len(rows(folder))


def test_without_cifar_10_its_cells_are_named_and_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "run", lambda *_: pytest.fail("there are no data"))
    study.main(["--out", str(folder), *TINY[2:], "--datasets", "cifar10", "--ways", "default"])
    assert "Not run: cifar10-11-default-0." in capsys.readouterr().out


def test_a_folder_holds_one_study(folder: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"holds a study of .*0\.02.*, and this is one of .*0\.5.*: give another --out"
    ):
        study.Folder(folder, 0.5)


def test_two_studies_at_once_in_one_folder_are_named(folder: Path) -> None:
    held = study.Folder(folder, 0.02)
    with held.lock(), pytest.raises(ConfigError, match=r"runs a study in .*: wait for it, or give another --out"):
        held.lock()


def answered(population: str, confidence: float, right: int, wrong: int) -> object:
    """Of a client with so many samples of two classes in every split, all at one confidence."""
    columns = np.array([0] * right + [1] * wrong)
    logs = np.log(np.tile([confidence, 1 - confidence], (len(columns), 1)))
    nothing = TensorSplit(torch.zeros(0, 1), torch.zeros(0, dtype=torch.int64))
    place = answers.Place(population, ClientData("a", ("x", "y"), nothing, nothing, nothing), True)
    return answers.Answers(place, dict.fromkeys(("validation", "test", "loo"), (logs, columns)))


def test_every_rule_sharpens_what_is_too_cautious_and_each_client_may_have_its_own() -> None:
    found = [answered(answers.SEEN, 0.7, 95, 5), answered(answers.UNSEEN, 0.7, 60, 40)]
    at = {(row["population"], row["rule"]): row["temperature"] for row in answers.measured(found)}
    assert at[answers.SEEN, "model's"] == at[answers.UNSEEN, "model's"] < 0.5
    assert at[answers.UNSEEN, "pooled leave-one-out"] > 1 > at[answers.SEEN, "pooled leave-one-out"]
    assert at[answers.UNSEEN, "own leave-one-out"] > at[answers.SEEN, "own leave-one-out"]


def test_a_ridge_needs_two_samples_of_every_class() -> None:
    features = np.random.default_rng(0).normal(size=(9, 3))
    assert answers.cross_validated(features, np.array([0] * 8 + [1])) is None
    assert answers.cross_validated(features, np.zeros(9, int)) is None
    assert answers.cross_validated(features, np.arange(9) % 2).shape == answers.STRENGTHS.shape


@pytest.mark.parametrize(("n", "apart"), [(5, 1.0), (11, 1.0), (40, 0.2)])
def test_a_ridge_is_that_of_scikit_learn(n: int, apart: float) -> None:
    labels, features = np.arange(n) % 2, np.random.default_rng(0).normal(size=(n, 20))
    features[:, 0] += apart * (2 * labels - 1)
    weights, biases = answers.ridges(features, labels == 1, answers.STRENGTHS)
    for strength, weight, bias in zip(answers.STRENGTHS, weights, biases, strict=True):
        theirs = LogisticRegression(C=strength, max_iter=20000, tol=1e-9).fit(features, labels)
        found = 1 / (1 + np.exp(-features @ weight - bias))
        np.testing.assert_allclose(found, theirs.predict_proba(features)[:, 1], atol=1e-4)


def test_of_classes_far_apart_the_pooled_ridge_is_the_weakest() -> None:
    labels = np.arange(10) % 2
    features = np.stack([2.0 * labels - 1, np.ones(10)], axis=1)
    scores = [None, answers.cross_validated(features, labels)]
    assert answers.pooled_choice(scores) == len(answers.STRENGTHS) - 1


@pytest.mark.parametrize(
    ("metric", "value", "missed"), [("ece", 0.06, 0.01), ("ece", 0.05, 0), ("accuracy", 0.9, -0.85)]
)
def test_a_target_is_missed_on_its_wrong_side(metric: str, value: float, missed: float) -> None:
    assert tables.Target("digits", 11, "seen", "1", metric, 0.05).missed_by(value) == pytest.approx(missed)


def test_where_a_floor_is_ahead_is_said_and_a_tie_is_not() -> None:
    ours = {"accuracy": 0.97, "ece": 0.05, "nll": 0.1, "brier": 0.04}
    floors = [{"accuracy": 0.98, "ece": 0.06, "nll": 0.1, "brier": 0.05}, {**ours, "ece": 0.02}]
    key = tables.Key("digits", 60, "seen", 11, "default", "1")
    known = {key: ours} | {key._replace(head=head): row for head, row in zip(tables.FLOORS, floors, strict=False)}
    assert "| accuracy 1.0 points, ece 0.030 |" in tables.ahead(known, "1")
