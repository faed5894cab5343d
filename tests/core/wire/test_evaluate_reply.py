"""Evaluation replies: sums of the task, and optionally those over the client's own classes, of the same samples."""

from dataclasses import replace

import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.regression import RegressionSums, regression_sums
from pfedgp_core.metrics.summary import Sums
from pfedgp_core.wire.replies import EvaluateReply

SUMS, OWN = metric_sums([[0.2, 0.8]], [0]), metric_sums([[1.0]], [0])
ERRORS = regression_sums([1.0, 2.0, 4.0], [0.5, 0.5, 1.0], [1.2, 1.0, 4.5], 2.0, 1.5)
REPLY = EvaluateReply("ward-3", "test", SUMS, own=OWN)


def test_they_travel() -> None:
    assert EvaluateReply.from_wire(*REPLY.to_wire()) == REPLY


def test_without_them_they_are_those_over_all_classes() -> None:
    assert EvaluateReply.from_wire(*replace(REPLY, own=None).to_wire()).own_or_all == SUMS


def test_with_them_they_are_told_apart() -> None:
    assert EvaluateReply.from_wire(*REPLY.to_wire()).own_or_all == OWN


def test_sums_of_other_samples_are_refused() -> None:
    with pytest.raises(DataError, match="cover other samples"):
        EvaluateReply.from_wire(*replace(REPLY, own=OWN + OWN).to_wire())


def test_sums_that_contradict_themselves_are_refused() -> None:
    config, metrics = REPLY.to_wire()
    with pytest.raises(DataError, match="contradict themselves"):
        EvaluateReply.from_wire(config, metrics | {"own.correct": 2})


def test_a_part_of_them_is_refused() -> None:
    config, metrics = replace(REPLY, own=None).to_wire()
    with pytest.raises(DataError, match="missing or contradict"):
        EvaluateReply.from_wire(config, metrics | {"own.n": 1})


def test_a_regression_has_none() -> None:
    reply = EvaluateReply("ward-3", "test", RegressionSums(), own=MetricSums())
    with pytest.raises(DataError, match="cover other samples"):
        EvaluateReply.from_wire(*reply.to_wire(), RegressionSums)


@pytest.mark.parametrize("sums", [ERRORS, RegressionSums()])
def test_replies_carry_regression_sums(sums: RegressionSums) -> None:
    reply = EvaluateReply("ward-3", "test", sums, {}, {"gp": 0.1})
    assert EvaluateReply.from_wire(*reply.to_wire(), RegressionSums) == reply


@pytest.mark.parametrize(("sent", "expected"), [(ERRORS, MetricSums), (SUMS, RegressionSums)])
def test_sums_of_the_other_task_are_refused(sent: Sums, expected: type[MetricSums] | type[RegressionSums]) -> None:
    with pytest.raises(DataError, match="metric sums are missing"):
        EvaluateReply.from_wire(*EvaluateReply("ward-3", "test", sent).to_wire(), expected)
