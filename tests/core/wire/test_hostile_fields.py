"""Fields of a stranger: whatever they hold, reading them gives a record or a DataError, and nothing unbounded."""

import json
from typing import Any

import numpy as np
import pytest

from pfedgp_core.checks import printable
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, DataError
from pfedgp_core.metrics.calibration import CalibrationSums
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.regression import SUM_LIMIT, RegressionSums, regression_sums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.names import ONBOARDED
from pfedgp_core.wire.publication import OnboardReply
from pfedgp_core.wire.replies import EvaluateReply, TrainReply

HELLO = Hello("ward-x", (0, 1), ("a", "b"), 10, 3, 3, (1, 8, 8), "", {"torch": "2"}, (0.5,), (0.1,))
HUGE, DEEP = "1" + "0" * 400, "[" * 200_000


def hello_with(**changes: Any) -> dict[str, str]:
    """The config group of a greeting; `HUGE` stands for itself as a number."""
    fields = json.loads(HELLO.to_wire()[0]["hello"]) | changes
    return {"hello": json.dumps(fields).replace(f'"{HUGE}"', HUGE)}


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    settings = Settings()
    state = SharedState.initial(settings, (1, 8, 8), 2)
    meta = {
        "settings": settings.to_run_config(),
        "class_names": ["a", "b"],
        "input_shape": [1, 8, 8],
        "normalisation": {"mean": [0.0], "std": [1.0]},
        "clients": ["ward-x"],
    }
    return TrainedModel.from_artefact(state.to_vector(), meta)


@pytest.mark.parametrize("names", [["a", "a"], ["a", "\x1b[2J\x1b]0;PWN\x07"], ["a", "b" * 10**6], ["a", ""]])
def test_a_model_s_class_names_are_those_that_a_site_may_have(names: list[str], model: TrainedModel) -> None:
    meta = {
        "settings": model.settings.to_run_config(),
        "class_names": names,
        "input_shape": [1, 8, 8],
        "normalisation": {"mean": [0.0], "std": [1.0]},
    }
    with pytest.raises(ArtefactError, match="The model has a class"):
        TrainedModel.from_artefact(model.vector, meta)


def onboarding(model: TrainedModel, **changes: Any) -> dict[str, Any]:
    return json.loads(
        OnboardReply("ward-x", 5, ("a",), None, "created", model.sha256, 1.0).to_wire()[0][ONBOARDED]
    ) | dict(changes)


def test_a_plain_greeting_comes_back() -> None:
    assert Hello.from_wire(hello_with(), {}) == HELLO


@pytest.mark.parametrize("field", ["mean", "std", "classes", "input_shape"])
def test_an_integer_beyond_any_float_is_malformed(field: str) -> None:
    with pytest.raises(DataError, match="malformed hello"):
        Hello.from_wire(hello_with(**{field: [HUGE]}), {})


@pytest.mark.parametrize("text", [DEEP, DEEP.replace("[", '{"a":'), "", "null", "[]", "9" * 5000])
def test_what_is_no_greeting_is_malformed(text: str) -> None:
    with pytest.raises(DataError, match="malformed hello"):
        Hello.from_wire({"hello": text}, {})


@pytest.mark.parametrize("text", [DEEP, "", "null", "[]"])
def test_what_is_no_onboarding_answer_is_malformed(text: str, model: TrainedModel) -> None:
    with pytest.raises(DataError, match="malformed answer"):
        OnboardReply.from_wire({ONBOARDED: text}, {}, model)


def test_a_plain_onboarding_answer_comes_back(model: TrainedModel) -> None:
    answer = OnboardReply.from_wire({ONBOARDED: json.dumps(onboarding(model))}, {}, model)
    assert answer.name == "ward-x"
    assert answer.samples == 5


@pytest.mark.parametrize(
    "changes", [{"seconds": 1e300}, {"samples": 10**30}, {"classes": ["a"] * 3}, {"seconds": 10**400}]
)
def test_implausible_onboarding_answers_are_refused(changes: dict, model: TrainedModel) -> None:
    with pytest.raises(DataError):
        OnboardReply.from_wire({ONBOARDED: json.dumps(onboarding(model, **changes))}, {}, model)


def measured(n: int = 4) -> dict[str, Any]:
    return metric_sums([[0.2, 0.8]] * n, [1] * n).to_dict()


@pytest.mark.parametrize("bins", [0, 1, 10, 14, 16, 1000])
def test_sums_have_the_number_of_bins_that_all_have(bins: int) -> None:
    rest = [0] * (bins - 1)
    cells = {"bin_count": [4, *rest], "bin_correct": [4, *rest], "bin_confidence": [3.2, *rest]} if bins else {}
    none = {"bin_count": [], "bin_correct": [], "bin_confidence": []}
    with pytest.raises(DataError):
        MetricSums.from_dict(measured() | (cells or none))


@pytest.mark.parametrize("count", [2**62, 2**63 - 1, 10**12, 10**30])
def test_bin_counts_do_not_wrap_around(count: int) -> None:
    # Four of 2^62 are 0 in 64 bits.
    cells = {
        "bin_count": [count] * 4 + [4] + [0] * 10,
        "bin_correct": [0] * 4 + [4] + [0] * 10,
        "bin_confidence": [float(count)] * 4 + [3.2] + [0] * 10,
    }
    with pytest.raises(DataError):
        MetricSums.from_dict(measured() | cells)
    negative = {"bin_count": [count, -count, 4] + [0] * 12, "bin_correct": [0, 0, 4] + [0] * 12}
    with pytest.raises(DataError):
        MetricSums.from_dict(measured() | negative)


@pytest.mark.parametrize("confidence", [1e300, -1.0, 10**400, "1", None, [1.0]])
def test_bin_confidences_lie_within_their_counts(confidence: object) -> None:
    values = measured()
    with pytest.raises(DataError):
        MetricSums.from_dict(values | {"bin_confidence": [confidence, *values["bin_confidence"][1:]]})


@pytest.mark.parametrize("field", ["n", "correct", "nll_sum", "brier_sum"])
@pytest.mark.parametrize("value", [10**400, 1.7e308, -1.7e308, [1], None])
def test_sums_of_any_size_are_refused(field: str, value: object) -> None:
    with pytest.raises(DataError):
        MetricSums.from_dict(measured() | {field: value})


def test_calibration_sums_have_the_bins_of_all() -> None:
    fields = CalibrationSums.zero().to_dict()
    with pytest.raises(DataError):
        CalibrationSums.from_dict(fields | {"test.bin_count": fields["test.bin_count"][:-1]})
    with pytest.raises(DataError):
        CalibrationSums.from_dict(fields | {"confusion.count": [2**62] * 4, "confusion.true": [0, 1, 2, 3]})
    with pytest.raises(DataError):
        CalibrationSums.from_dict(fields | {"validation.bin_confidence": DEEP})


TARGETS = np.array([1.0, 2.0, 4.0])
ERRORS = regression_sums(TARGETS + 0.1, np.ones(3), TARGETS, 2.0, 1.0).to_dict()


@pytest.mark.parametrize("field", [name for name in ERRORS if name != "covered"])
@pytest.mark.parametrize("value", [1.7e308, 1e200, 10**400])
def test_regression_sums_of_any_size_are_refused(field: str, value: float) -> None:
    with pytest.raises(DataError):
        RegressionSums.from_dict(ERRORS | {field: value})


def test_the_largest_and_smallest_regression_sums_have_finite_metrics() -> None:
    largest = dict.fromkeys(("squared_error", "nll_sum", "standard_square", "baseline_square"), SUM_LIMIT)
    targets = {"absolute_error": 0.0, "target_sum": 0.0, "target_square": 5e-324}
    total = RegressionSums.zero()
    for _ in range(100):
        total = total + RegressionSums.from_dict(ERRORS | largest | targets)
        numbers = [value for value in summarise(total).values() if value is not None]
        assert np.isfinite(numbers).all()


@pytest.mark.parametrize(
    "changes",
    [
        {"versions": {f"p{i}": "1" for i in range(1000)}},
        {"versions": {"torch": "9" * 1000}},
        {"versions": {"\x1b[31mtorch": "2"}},
        {"versions": {"torch": "2\n\x1b]0;title\x07"}},
        {"versions": {"torch": 2}},
        {"partition_hash": "x" * 1000},
        {"partition_hash": "\x1b[2J"},
        {"name": "ward\u202ex"},
        {"name": "w" * 101},
        {"class_names": ["a", "b" * 201]},
        {"class_names": ["a", "\x1b[31mb"]},
        {"classes": [0, 1, 1]},
        {"classes": [2]},
        {"input_shape": [10**6, 10**6, 10**6]},
        {"input_shape": [1] * 50},
        {"n_train": 10**10},
    ],
    ids=str,
)
def test_greetings_beyond_all_bounds_are_refused(changes: dict) -> None:
    with pytest.raises(DataError):
        Hello.from_wire(hello_with(**changes), {})


@pytest.mark.parametrize(
    "metrics",
    [
        {"counter.\n\x1b[31mINJECT": 7},
        {"counter.<script>alert(1)</script>": 7},
        {"counter." + "A" * 61: 7},
        {"counter.": 7},
        {"counter.a": 10**13},
        {f"counter.k{i}": 1 for i in range(101)},
        {"seconds.\x1b[31m": 1.0},
        {f"seconds.k{i}": 1.0 for i in range(101)},
        {"seconds.gp": 1.7e308},
        {"seconds.gp": 1.1e7},
        {"seconds.gp": -1.0},
        {"loss": 1.7e308},
        {"loss": -1.1e12},
        {"steps": 2**63 - 1},
    ],
    ids=lambda metrics: next(iter(metrics))[:20].encode("unicode_escape").decode(),
)
def test_updates_with_names_and_numbers_beyond_all_bounds_are_refused(metrics: dict) -> None:
    config, plain = TrainReply("ward-x", "ok", 10, 0.5, 2, {"chain redrawn": 1}, {"gp": 0.1}).to_wire()
    assert TrainReply.from_wire(config, plain).counters == {"chain redrawn": 1}
    with pytest.raises(DataError) as caught:
        TrainReply.from_wire(config, plain | metrics)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200
    evaluation, sums = EvaluateReply("ward-x", "test", MetricSums.zero()).to_wire()
    if not {"loss", "steps"} & set(metrics):
        with pytest.raises(DataError):
            EvaluateReply.from_wire(evaluation, sums | metrics)


def test_what_is_printed_is_one_short_line() -> None:
    assert printable("a\x1b[31m\n\u202eb\u00e9", 200) == "a\\x1b[31m\\n\\u202eb\u00e9"
    assert len(printable("\n" * 10**6, 200)) == 200
    assert len(printable("x" * 201, 200)) == 200
