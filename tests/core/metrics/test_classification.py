"""Metrics as poolable sums: golden values, bin edges, unseen classes, temperature."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.metrics.classification import MetricSums, calibration_curve, metric_sums
from pfedgp_core.metrics.mce import maximum_calibration_error
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, best_temperature, temperature_scale


@st.composite
def predictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n, k = draw(st.integers(0, 25)), draw(st.integers(1, 6))
    raw = draw(hnp.arrays(np.float64, (n, k), elements=st.floats(0, 1, width=32)))
    raw[raw.sum(axis=1) < 1e-3] = 1.0
    labels = draw(hnp.arrays(np.int64, n, elements=st.integers(-1, k - 1)))
    return raw / raw.sum(axis=1, keepdims=True), labels


def check(wanted: dict, name: str, got: object, case: dict) -> None:
    (found,) = [a for a in case["asserts"] if a["name"] == name]
    values = [found["value"], got]
    left, right = (np.array(v, dtype=np.float64) for v in values)  # None becomes NaN
    np.testing.assert_allclose(right, left, atol=found["atol"], rtol=0, equal_nan=True)
    wanted.pop(name)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_golden_calibration(golden, dtype):
    for case in golden.topic("calibration"):
        inputs = case["inputs"]
        probs, labels = np.array(inputs["probs"], dtype=dtype), np.array(inputs["labels"])
        sums = metric_sums(probs, labels, inputs["n_bins"])
        summary, curve = summarise(sums), calibration_curve(sums)
        wanted = {a["name"]: a["value"] for a in case["asserts"]}
        check(wanted, "acc", summary["accuracy"], case)
        check(wanted, "ece", summary["ece"], case)
        check(wanted, "mce", maximum_calibration_error(sums), case)
        check(wanted, "brier_sum_over_classes", summary["brier"], case)
        check(wanted, "nll", summary["nll"], case)
        check(wanted, "bin_counts", curve.count, case)
        check(wanted, "bin_conf", curve.confidence, case)
        check(wanted, "bin_acc", curve.accuracy, case)
        grid = inputs["temp_grid"]
        at = {t: metric_sums(temperature_scale(probs, t), labels, inputs["n_bins"]) for t in grid}
        scaled = {t: {**summarise(found), "mce": maximum_calibration_error(found)} for t, found in at.items()}
        check(wanted, "ECE over grid", [scaled[t]["ece"] for t in grid], case)
        check(wanted, "best T by ECE", best_temperature(probs, labels, grid, inputs["n_bins"]), case)
        for t, values in wanted.pop("temperature results").items():
            got = scaled[float(t)]
            np.testing.assert_allclose(
                [got["ece"], got["mce"], got["brier"], got["nll"]],
                [values[name] for name in ("ece", "mce", "brier_sum_over_classes", "nll")],
                atol=1e-6,
            )
        assert not wanted, f"golden values without a check: {sorted(wanted)}"


def test_the_grid_is_the_papers(golden):
    assert list(TEMPERATURE_GRID) == golden.case("calibration20")["inputs"]["temp_grid"]


def test_confidence_one_shares_the_last_bin():
    sums = metric_sums([[0.05, 0.95], [0.0, 1.0]], [1, 0])
    assert sums.bin_count.tolist() == [0] * 14 + [2]
    assert summarise(sums)["ece"] == pytest.approx(0.475)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("edge", range(8, 15))
def test_an_edge_belongs_to_the_bin_below(edge, dtype):
    confidence = dtype(edge) / dtype(15)
    sums = metric_sums(np.array([[confidence, 1 - confidence]], dtype=dtype), [0])
    assert sums.bin_count.argmax() == edge - 1


def test_confidence_zero_goes_to_the_first_bin():
    # No distribution has it; one with very many columns comes near.
    sums = metric_sums(np.full((1, 100_000), 1e-5), [0])
    assert sums.bin_count[0] == 1


def test_ties_go_to_the_lowest_column():
    assert metric_sums([[0.4, 0.4, 0.2]], [0]).correct == 1
    assert metric_sums([[0.4, 0.4, 0.2]], [1]).correct == 0


def test_confident_and_wrong():
    sums = metric_sums([[1.0, 0.0]], [1])
    summary = summarise(sums)
    assert summary["accuracy"] == 0
    assert summary["ece"] == 1
    assert maximum_calibration_error(sums) == 1
    assert summary["brier"] == 2
    assert summary["nll"] == pytest.approx(-np.log(1e-12))


def test_a_class_outside_the_columns_is_an_error():
    summary = summarise(metric_sums([[0.7, 0.3]], [-1]))
    assert summary["accuracy"] == 0
    assert summary["n"] == 1
    assert summary["brier"] == pytest.approx(1 + 0.49 + 0.09)
    assert summary["nll"] == pytest.approx(-np.log(1e-12))
    assert summary["ece"] == pytest.approx(0.7)


def test_single_class_client():
    summary = summarise(metric_sums(np.ones((4, 1)), np.zeros(4, dtype=int)))
    assert (summary["accuracy"], summary["nll"], summary["brier"], summary["ece"]) == (1, 0, 0, 0)


def test_no_sample_is_none_and_never_nan():
    for sums in (
        MetricSums.zero(),
        metric_sums(np.zeros((0, 3)), np.zeros(0, dtype=int)),
        metric_sums(np.zeros((0, 0)), []),
    ):
        summary = summarise(sums)
        assert summary.pop("n") == 0
        assert set(summary) == {"accuracy", "nll", "brier", "ece", "mce"}
        assert set(summary.values()) == {None}
    assert MetricSums() == MetricSums.zero()
    assert calibration_curve(MetricSums()).accuracy == [None] * 15


@given(predictions(), st.data())
def test_sums_of_parts_are_the_sums_of_the_whole(given_predictions, data):
    p, y = given_predictions
    cut = data.draw(st.integers(0, len(y)))
    whole, pooled = metric_sums(p, y), metric_sums(p[:cut], y[:cut]) + metric_sums(p[cut:], y[cut:])
    for name, value in whole.to_dict().items():
        np.testing.assert_allclose(pooled.to_dict()[name], value, rtol=1e-9, atol=1e-9)


@given(predictions())
def test_metrics_are_in_range_and_sums_survive_json(given_predictions):
    sums = metric_sums(*given_predictions)
    assert MetricSums.from_dict(json.loads(json.dumps(sums.to_dict()))) == sums
    summary = summarise(sums)
    if summary["n"]:
        assert 0 <= summary["accuracy"] <= 1
        assert 0 <= summary["brier"] <= 2
        assert summary["nll"] >= 0
        assert 0 <= summary["ece"] <= maximum_calibration_error(sums) + 1e-12 <= 1 + 1e-9


def test_the_maximum_error_is_of_bins_with_ten_samples_alone():
    lonely = metric_sums([[1.0, 0.0]] + [[0.6, 0.4]] * 10, [1] + [0] * 10)
    assert maximum_calibration_error(lonely) == 1
    assert summarise(lonely)["mce"] == pytest.approx(0.4)
    assert summarise(metric_sums([[0.6, 0.4]] * 9, [0] * 9))["mce"] is None


def test_brier_is_the_definition():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(5), 50), rng.integers(0, 5, 50)
    assert summarise(metric_sums(p, y))["brier"] == pytest.approx(((p - np.eye(5)[y]) ** 2).sum(axis=1).mean())
    assert summarise(metric_sums(p, y))["nll"] == pytest.approx(-np.log(p[np.arange(50), y]).mean())


def test_torch_tensors_are_taken():
    import torch

    sums = metric_sums(torch.tensor([[0.25, 0.75]]), torch.tensor([1]))
    assert sums.correct == 1


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.5, 0.5], [0]),
        ([[0.5, 0.5]], [0, 1]),
        ([[0.5, 0.5]], [2]),
        ([[0.5, 0.5]], [-2]),
        ([[0.5, 0.5]], [0.0]),
        ([[0.5, 0.6]], [0]),
        ([[1.5, -0.5]], [0]),
        ([[np.nan, 1.0]], [0]),
        ([[np.inf, 0.0]], [0]),
        (np.zeros((2, 0)), [-1, -1]),
    ],
)
def test_bad_predictions_are_refused(p, y):
    with pytest.raises(DataError):
        metric_sums(p, y)


def test_bad_bins_are_refused():
    with pytest.raises(ConfigError):
        metric_sums([[1.0]], [0], bins=0)
    with pytest.raises(DataError):
        MetricSums.zero(15) + MetricSums.zero(10)


@pytest.mark.parametrize(
    "change",
    [
        {"n": 7},
        {"correct": -1},
        {"nll_sum": float("nan")},
        {"nll_sum": 1e9},
        {"brier_sum": 99.0},
        {"bin_count": [1]},
        {"bin_confidence": [float("inf")] * 15},
        {"bin_correct": ["x"] * 15},
        {"n": None},
    ],
)
def test_sums_that_no_client_can_have_are_refused(change):
    values = metric_sums([[0.2, 0.8], [0.6, 0.4]], [1, 1]).to_dict()
    with pytest.raises(DataError):
        MetricSums.from_dict(values | change)


def test_missing_field_is_refused():
    values = MetricSums.zero().to_dict()
    del values["n"]
    with pytest.raises(DataError, match="'n'"):
        MetricSums.from_dict(values)


def test_temperature():
    p = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(temperature_scale(p, 1.0), p, atol=1e-15)
    hot, cold = temperature_scale(p, 1000.0), temperature_scale(p, 0.1)
    np.testing.assert_allclose(hot.sum(axis=1), 1.0)
    assert hot[0].max() < 0.34
    assert cold[0, 0] > 0.99
    assert hot[1].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(temperature_scale(p, 0.5)[0], p[0] ** 2 / (p[0] ** 2).sum())
    assert temperature_scale(np.zeros((0, 3)), 2.0).shape == (0, 3)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_temperature_is_refused(temperature):
    with pytest.raises(ConfigError):
        temperature_scale([[1.0]], temperature)


def test_best_temperature_refuses_nothing_to_choose_from():
    with pytest.raises(DataError):
        best_temperature(np.zeros((0, 2)), [])
    with pytest.raises(ConfigError):
        best_temperature([[1.0]], [0], grid=())
