"""Sums at every temperature: pooled they are those of the pooled predictions, and the wire refuses impossible ones."""

import numpy as np
import pytest
import torch
from torchmetrics.classification import MulticlassCalibrationError

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import DataError
from pfedgp_core.methods.evaluation import evaluate_client
from pfedgp_core.metrics.calibration import (
    CalibrationSums,
    confusion_counts,
    lowest_ece,
    temperature_sums,
)
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.mce import maximum_calibration_error
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, best_temperature, temperature_scale
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream


def predictions(n: int, classes: int, seed: int, sharpness: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities without a confidence of exactly 1, and labels that they are right about most of the time."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    logits = rng.normal(size=(n, classes)) + sharpness * np.eye(classes)[labels]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return p, labels


def sums_of(seed: int, n: int = 40, classes: int = 4) -> CalibrationSums:
    (pv, yv), (pt, yt) = predictions(n, classes, seed), predictions(n + 3, classes, seed + 100)
    return CalibrationSums(temperature_sums(pv, yv), temperature_sums(pt, yt), confusion_counts(yt, pt.argmax(axis=1)))


@pytest.mark.parametrize("classes", [2, 5, 30])
@pytest.mark.parametrize("sharpness", [0.0, 1.5, 6.0])
def test_errors_are_those_of_torchmetrics(classes: int, sharpness: float) -> None:
    p, y = predictions(700, classes, seed=classes, sharpness=sharpness)
    assert p.max() < 1.0  # torchmetrics puts a confidence of exactly 1 in a bin of its own
    sums = metric_sums(p, y)
    ours = summarise(sums) | {"mce": maximum_calibration_error(sums)}
    for name, norm in (("ece", "l1"), ("mce", "max")):
        theirs = MulticlassCalibrationError(num_classes=classes, n_bins=15, norm=norm)
        assert ours[name] == pytest.approx(theirs(torch.tensor(p), torch.tensor(y)).item(), abs=1e-6)


def test_errors_of_split_data_are_those_of_torchmetrics_on_all() -> None:
    parts = [predictions(n, 3, seed=n, sharpness=2.0) for n in (13, 64, 200)]
    pooled = sum((metric_sums(p, y) for p, y in parts), MetricSums.zero())
    theirs = MulticlassCalibrationError(num_classes=3, n_bins=15, norm="l1")
    for p, y in parts:
        theirs.update(torch.tensor(p), torch.tensor(y))
    assert summarise(pooled)["ece"] == pytest.approx(theirs.compute().item(), abs=1e-6)


def test_the_temperature_is_that_of_the_pooled_predictions() -> None:
    chosen = set()
    for sharpness in (0.0, 2.0, 8.0):
        parts = [predictions(n, 3, seed=n, sharpness=sharpness) for n in (30, 80, 150)]
        # Too sure or too unsure of itself, so that the choice is not always 1.
        parts = [(temperature_scale(p, 0.3 if sharpness < 1 else 4.0), y) for p, y in parts]
        none = CalibrationSums.zero()
        total = sum((CalibrationSums(temperature_sums(p, y), none.test) for p, y in parts), none)
        p, y = (np.concatenate(column) for column in zip(*parts, strict=True))
        assert lowest_ece(total.validation) == best_temperature(p, y)
        chosen.add(lowest_ece(total.validation))
    assert len(chosen) > 1


def test_temperature_one_gives_the_plain_sums() -> None:
    p, y = predictions(60, 4, 1)
    plain, at_one = metric_sums(p, y), temperature_sums(p, y)[TEMPERATURE_GRID.index(1.0)]
    np.testing.assert_array_equal(plain.bin_count, at_one.bin_count)
    np.testing.assert_allclose(plain.bin_confidence, at_one.bin_confidence)


def test_without_validation_data_there_is_no_temperature() -> None:
    assert lowest_ece(CalibrationSums.zero().validation) is None


def test_confusion_counts_true_and_predicted_classes() -> None:
    counts = confusion_counts(np.array([2, 2, 5, 2]), np.array([2, 5, 5, 5]))
    assert counts == ((2, 2, 1), (2, 5, 2), (5, 5, 1))
    one = CalibrationSums(CalibrationSums.zero().validation, CalibrationSums.zero().test, counts)
    assert (one + one).confusion == ((2, 2, 2), (2, 5, 4), (5, 5, 2))


@pytest.mark.parametrize("sums", [sums_of(1), CalibrationSums.zero(), sums_of(2) + sums_of(3)])
def test_round_trip(sums: CalibrationSums) -> None:
    fields = sums.to_dict()
    assert all(isinstance(v, list) and all(type(x) in (int, float) for x in v) for v in fields.values())
    assert CalibrationSums.from_dict(fields) == sums


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("test.n", lambda v: v[:-1]),
        ("test.n", lambda v: [n + 1 for n in v]),
        ("validation.n", lambda v: [0, *v[1:]]),
        ("validation.nll_sum", lambda v: [float("nan"), *v[1:]]),
        ("test.bin_count", lambda v: v[::-1]),
        ("confusion.count", lambda v: [-v[0], *v[1:]]),
        ("confusion.count", lambda v: [v[0] + 1, *v[1:]]),
        ("confusion.true", lambda v: v[::-1]),
        ("confusion.predicted", lambda v: v[:-1]),
        ("confusion.true", lambda v: 3),
    ],
)
def test_impossible_sums_are_refused(field: str, change) -> None:
    fields = sums_of(1).to_dict()
    with pytest.raises(DataError):
        CalibrationSums.from_dict(fields | {field: change(fields[field])})


@pytest.mark.parametrize("field", ["test.n", "validation.bin_count", "confusion.true"])
def test_missing_fields_are_refused(field: str) -> None:
    fields = {key: value for key, value in sums_of(1).to_dict().items() if key != field}
    with pytest.raises(DataError):
        CalibrationSums.from_dict(fields)


def test_sums_must_fit_the_client() -> None:
    sums = sums_of(1)  # 40 validation and 43 test samples of 4 classes
    assert sums.fits(43, 40, 4)
    assert sums.fits(43, 100, 10)
    assert not sums.fits(42, 40, 4)
    assert not sums.fits(43, 39, 4)
    assert not sums.fits(43, 40, 3)


SMALL = Settings(gp=GPSettings(predict_chains=4, sweeps=3))


def client(labels: list[int], seed: int) -> TensorSplit:
    generator = torch.Generator().manual_seed(seed)
    return TensorSplit(torch.randn(len(labels), 6, generator=generator), torch.tensor(labels))


def evaluated(settings: Settings, validation: TensorSplit | None, test_labels: list[int] | None = None):
    state = SharedState.initial(settings, (6,), 8)
    train, test = client([3, 7] * 10, 0), client(test_labels or [3, 7, 7, 3, 7], 1)
    return evaluate_client(state, train, test, settings, Stream(0, "t"), validation=validation)


def test_a_client_measures_both_splits_with_one_classifier() -> None:
    validation = client([3, 7, 3], 2)
    plain, extra = evaluated(SMALL, None), evaluated(SMALL, validation)
    assert plain.calibration is None
    assert plain.sums == extra.sums
    assert extra.calibration is not None
    assert extra.calibration.fits(5, 3, 8)
    assert {true for true, _, _ in extra.calibration.confusion} == {3, 7}
    # The very classifier that is tested: the validation sums are those of testing on the validation data.
    state = SharedState.initial(SMALL, (6,), 8)
    tested = evaluate_client(state, client([3, 7] * 10, 0), validation, SMALL, Stream(0, "t"))
    at_one = extra.calibration.validation[TEMPERATURE_GRID.index(1.0)]
    np.testing.assert_allclose(tested.sums.bin_confidence, at_one.bin_confidence, rtol=1e-6)


def test_a_class_that_the_client_never_saw_is_in_the_confusion() -> None:
    result = evaluated(SMALL, client([], 2), [3, 7, 5])
    assert result.calibration is not None
    assert [n for true, predicted, n in result.calibration.confusion if true == 5 and predicted in (3, 7)] == [1]
    assert result.calibration.validation[0].n == 0


def test_sweeps_of_prediction_are_a_setting_of_their_own() -> None:
    gp = SMALL.gp
    longer = SMALL.replace(gp=GPSettings(predict_chains=gp.predict_chains, sweeps=3, predict_sweeps=9))
    nine = SMALL.replace(gp=GPSettings(predict_chains=gp.predict_chains, sweeps=9, predict_sweeps=0))
    assert evaluated(longer, None).sums == evaluated(nine, None).sums != evaluated(SMALL, None).sums
