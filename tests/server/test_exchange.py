"""Records of the wire: what goes in comes out, and nothing else is taken."""

import dataclasses

import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from pfedgp_core.wire.versions import software_versions

HELLO = Hello("ward-3", (0, 2), ("a", "b", "c"), 10, 0, 4, (3, 8, 8), "ab12", {"torch": "2.14"})
TRAIN = TrainReply("ward-3", "ok", 10, 0.5, 2, {"step_skipped": 1}, {"network": 0.1, "gp": 0.2})
EVALUATE = EvaluateReply("ward-3", "test", metric_sums([[0.8, 0.2], [0.4, 0.6]], [0, 0]), {}, {"gp": 0.1})


@pytest.mark.parametrize(
    "record",
    [
        HELLO,
        dataclasses.replace(HELLO, classes=(), n_train=0),
        TRAIN,
        TrainReply("a", "single-class", 3),
        TrainReply("a", "no-data", 0),
        EVALUATE,
        EvaluateReply("a", "validation", MetricSums.zero()),
    ],
)
def test_round_trip(record) -> None:
    config, metrics = record.to_wire()
    assert all(isinstance(value, int | float | list) and not isinstance(value, bool) for value in metrics.values())
    assert type(record).from_wire(config, metrics) == record


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("n_train", 0, "not positive"),
        ("n_train", -5, "not positive"),
        ("n_train", 2.0, "not an integer"),
        ("steps", -1, "negative"),
        ("loss", float("nan"), "not finite"),
        ("loss", [1.0], "not a number"),
        ("counter.x", -1, "negative"),
        ("seconds.gp", float("inf"), "not finite"),
        ("seconds.gp", -1.0, "negative"),
    ],
)
def test_train_replies_with_impossible_numbers(field: str, value: object, reason: str) -> None:
    config, metrics = TRAIN.to_wire()
    with pytest.raises(DataError, match=reason):
        TrainReply.from_wire(config, metrics | {field: value})


@pytest.mark.parametrize("missing", ["client", "status", "n_train", "steps"])
def test_train_replies_without_a_field(missing: str) -> None:
    config, metrics = TRAIN.to_wire()
    without = [{k: v for k, v in fields.items() if k != missing} for fields in (config, metrics)]
    with pytest.raises(DataError, match=missing):
        TrainReply.from_wire(*without)


def test_an_unknown_status_is_refused() -> None:
    config, metrics = TRAIN.to_wire()
    with pytest.raises(DataError, match="status"):
        TrainReply.from_wire(config | {"status": "great"}, metrics)


@pytest.mark.parametrize(
    "changes", [{"sums.correct": 3}, {"sums.n": 5}, {"sums.bin_count": 1}, {"sums.nll_sum": float("nan")}]
)
def test_sums_that_contradict_themselves_are_refused(changes: dict) -> None:
    config, metrics = EVALUATE.to_wire()
    with pytest.raises(DataError, match="metric sums"):
        EvaluateReply.from_wire(config, metrics | changes)


@pytest.mark.parametrize("text", ["", "[]", "{}", '"x"', '{"name": 3}'])
def test_malformed_greetings_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="malformed"):
        Hello.from_wire({"hello": text}, {})


def test_versions_name_what_decides_results() -> None:
    assert {"python", "flwr", "torch", "numpy"} <= set(software_versions())
