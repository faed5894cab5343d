"""The record of a round with a validation: metrics over own classes where they differ, NLL, and what it cost."""

from pathlib import Path
from typing import Any

import pytest
from flwr.supercore.task_identity import TaskIdentity

from tests.federation_run import SMALL, federate

pytestmark = pytest.mark.slow


def records(folder: Path, **changed: Any) -> list[dict[str, Any]]:
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SMALL.replace(**changed), folder).records


@pytest.fixture(scope="module")
def fedavg(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return records(tmp_path_factory.mktemp("fedavg") / "out", method="fedavg")


@pytest.fixture(scope="module")
def pfedgp(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return records(tmp_path_factory.mktemp("pfedgp") / "out")


def test_a_head_over_all_classes_is_also_measured_over_own_ones(fedavg: list[dict[str, Any]]) -> None:
    measured = [record for record in fedavg if record["evaluated"]]
    assert len(measured) == 2
    for record in measured:
        # Without wrong classes of others, an answer can only become right, and a true class only more probable.
        assert record["validation_own_accuracy"] >= record["validation_accuracy"]
        assert record["validation_own_nll"] < record["validation_nll"]


def test_a_tree_over_own_classes_has_no_second_column(pfedgp: list[dict[str, Any]]) -> None:
    assert not [key for record in pfedgp for key in record if "own" in key]
    assert [record["validation_nll"] is None for record in pfedgp] == [not record["evaluated"] for record in pfedgp]


def test_the_costs_of_a_validation_stand_by_themselves(fedavg: list[dict[str, Any]]) -> None:
    for record in fedavg:
        spent = (record["bytes_evaluation"], record["seconds"]["evaluation_cpu"])
        assert [cost > 0 for cost in spent] == [bool(record["evaluated"])] * 2
        assert record["seconds"]["evaluation_cpu"] < record["seconds"]["cpu"]
        assert record["bytes_evaluation"] < record["bytes_sent"]


def test_training_costs_the_same_in_every_round(fedavg: list[dict[str, Any]]) -> None:
    assert len({record["bytes_sent"] - record["bytes_evaluation"] for record in fedavg}) == 1
