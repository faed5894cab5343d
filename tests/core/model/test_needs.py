"""What a model and its clients need at least, from shapes alone; honest configurations stay far below a machine."""

from typing import Any

import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.model.needs import Workload, client_needs, model_needs
from pfedgp_core.model.network import build_network
from pfedgp_core.model.network_size import network_size
from pfedgp_core.model.shared import SharedState
from pfedgp_core.registry import NETWORKS

GB = 1e9
CIFAR = (3, 32, 32)


def total(needs: list[Any]) -> float:
    return float(sum(need.bytes for need in needs))


@pytest.mark.parametrize("name", ["auto", *NETWORKS])
def test_a_network_is_counted_without_being_built(name: str) -> None:
    before = torch.random.get_rng_state()
    size = network_size(name, CIFAR, 84)
    assert torch.equal(torch.random.get_rng_state(), before)
    network = build_network(name, CIFAR, 84)
    assert size is not None
    assert size.values == sum(p.numel() for p in (*network.parameters(), *network.buffers()))
    assert size.width == network(torch.zeros(1, *CIFAR)).shape[1]
    assert size.activations >= size.width


@pytest.mark.parametrize(
    ("name", "shape"), [("package.module:network", CIFAR), ("lenet", (20,)), ("lenet", (1, 2, 2)), ("auto", (3, 4))]
)
def test_other_networks_are_not_called(name: str, shape: tuple[int, ...]) -> None:
    assert network_size(name, shape, 84) is None


@pytest.mark.parametrize("variant", ["full", "ip-data"])
def test_the_model_is_its_vector(variant: str) -> None:
    settings = Settings(variant=variant, inducing_per_class=7)
    vector = SharedState.initial(settings, (1, 8, 8), 10).to_vector()
    assert total(model_needs(settings, (1, 8, 8), 10, copies=2)) == 2 * vector.nbytes


@pytest.mark.parametrize(
    ("changes", "shape", "classes", "work", "named"),
    [
        ({}, (3, 5000, 5000), 10, Workload(1, 2), "the network 'auto' of"),
        ({"network": "mlp"}, (10**8,), 10, Workload(1, 2), "the network 'mlp' of"),
        (
            {"variant": "ip-data", "inducing_per_class": 100_000, "feature_dim": 4096},
            CIFAR,
            100,
            Workload(0, 0),
            "inducing inputs for each",
        ),
        (
            {"variant": "ip-compute", "inducing_per_class": 100_000},
            CIFAR,
            10,
            Workload(10**6, 10),
            "inducing inputs at the root",
        ),
        ({}, CIFAR, 10, Workload(200_000, 10), "the covariances of 200,000 points"),
        ({"gp.solver": "dense", "gp.predict-chains": 10_000}, CIFAR, 10, Workload(5000, 10), "each factorised"),
        ({"gp.predict-chains": 10_000}, CIFAR, 10, Workload(5000, 10, accelerator=True), "each factorised"),
        (
            {"gp.solver": "dense", "gp.train-chains": 1000, "gp.predict-chains": 1},
            CIFAR,
            10,
            Workload(9000, 10),
            "1,000 chains of",
        ),
        ({"network": "resnet18", "method": "fedavg", "batch-size": 10**6}, CIFAR, 10, Workload(10**6, 10), "on their"),
        ({"method": "fedavg"}, CIFAR, 10**6, Workload(10, 10, evaluated=10**5), "over 1,000,000 classes"),
    ],
)
def test_what_no_machine_holds_is_known_before(
    changes: dict[str, Any], shape: tuple[int, ...], classes: int, work: Workload, named: str
) -> None:
    settings = Settings.from_run_config({key.replace("_", "-"): value for key, value in changes.items()})
    needs = client_needs(settings, shape, classes, work)
    assert total(needs) > 50 * GB
    assert named in max(needs, key=lambda need: need.bytes).what


@pytest.mark.parametrize(
    ("changes", "shape", "work"),
    [
        ({}, CIFAR, Workload(10_000, 10, 10_000)),
        ({"variant": "ip-compute"}, CIFAR, Workload(50_000, 100, 10_000)),
        ({"variant": "ip-data"}, CIFAR, Workload(5000, 10, 1000)),
        ({"network": "resnet18"}, (3, 224, 224), Workload(2000, 10, 500)),
        ({"method": "fedavg", "network": "mobilenetv2"}, (3, 224, 224), Workload(50_000, 10, 10_000)),
        ({"task": "regression"}, (2000,), Workload(10_000, 0, 1000)),
        ({"gp.solver": "dense"}, CIFAR, Workload(1000, 10, 1000)),
    ],
)
def test_large_and_honest_runs_need_little_of_a_machine(
    changes: dict[str, Any], shape: tuple[int, ...], work: Workload
) -> None:
    settings = Settings.from_run_config(changes)
    assert total(client_needs(settings, shape, 10, work)) < 8 * GB
