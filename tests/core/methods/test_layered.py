"""FedAvg, FedPer and the network alone: one update with another list of personal layers."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.methods.base import Method, Upload
from pfedgp_core.methods.layered import LayeredMethod
from pfedgp_core.methods.make import make_method
from pfedgp_core.model.softmax_network import SoftmaxNetwork
from pfedgp_core.numerics.streams import Stream

SHAPE, CLASSES = (6,), 4


def settings_of(method: str, **more: object) -> Settings:
    config = {"method": method, "network": "mlp", "feature-dim": 8, "local-steps": 7, "batch-size": 5}
    return Settings.from_run_config(config | more)  # type: ignore[operator]


def method_of(method: str, **more: object) -> Method:
    return make_method(settings_of(method, **more), SHAPE, CLASSES)


def data(seed: int, n: int = 12) -> TensorSplit:
    generator = torch.Generator().manual_seed(seed)
    return TensorSplit(torch.randn(n, *SHAPE, generator=generator), torch.arange(n) % CLASSES)


def rounds(method: Method, clients: Sequence[str], count: int) -> tuple[np.ndarray, dict[str, np.ndarray | None]]:
    """The server's state and what the clients keep, after some rounds of all clients."""
    state, kept = method.initial(), dict[str, np.ndarray | None].fromkeys(clients)
    for t in range(1, count + 1):
        uploads = []
        for i, client in enumerate(clients):
            update = method.update(state, kept[client], data(i), Stream(0, "train", t, client))
            kept[client] = kept[client] if update.keep is None else update.keep
            if update.upload is not None:
                uploads.append(Upload(client, update.upload, state, 12))
        state = method.step(state, uploads) if uploads else state
    return state, kept


def test_fedper_without_personal_layers_is_fedavg_to_the_bit() -> None:
    plain, _ = rounds(method_of("fedavg"), ["a", "b"], 3)
    none, kept = rounds(method_of("fedper", **{"fedper.personal-layers": 0}), ["a", "b"], 3)
    assert none.tobytes() == plain.tobytes()
    assert kept == {"a": None, "b": None}


def test_fedper_of_all_layers_is_the_network_alone_to_the_bit() -> None:
    state, kept = rounds(method_of("fedper", **{"fedper.personal-layers": 1000}), ["a", "b"], 2)
    _, alone = rounds(method_of("local-network"), ["a", "b"], 2)
    assert state.size == 0
    assert kept["a"].tobytes() == alone["a"].tobytes()
    assert kept["b"].tobytes() == alone["b"].tobytes()


def test_fedavg_of_one_client_is_its_sgd() -> None:
    settings = settings_of("fedavg")
    state, _ = rounds(method_of("fedavg"), ["a"], 2)
    network, samples = SoftmaxNetwork.initial(settings, SHAPE, CLASSES), data(0)
    for t in (1, 2):
        optimiser = torch.optim.SGD(
            network.parameters(), settings.learning_rate, settings.momentum, weight_decay=settings.weight_decay
        )
        for rows in mini_batches(12, 5, 7, 1, Stream(0, "train", t, "a")):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(samples.inputs[rows]), samples.labels[rows]).backward()
            optimiser.step()
    expected = torch.cat([p.detach().reshape(-1) for p in network.parameters()]).numpy()
    assert state.tobytes() == expected.tobytes()


def test_without_a_step_size_nothing_moves() -> None:
    method = method_of("fedavg", **{"learning-rate": 1e-9, "weight-decay": 0.0})
    state, _ = rounds(method, ["a", "b"], 1)
    np.testing.assert_allclose(state, method.initial(), atol=1e-7)


def test_a_clients_head_does_not_depend_on_anothers_data() -> None:
    method = method_of("fedper")
    both = method.update(method.initial(), None, data(0), Stream(0, "train", 1, "a")).keep
    method.update(method.initial(), None, data(5), Stream(0, "train", 1, "b"))
    again = method.update(method.initial(), None, data(0), Stream(0, "train", 1, "a")).keep
    assert both.tobytes() == again.tobytes()


def test_the_paper_counts_121182_values_of_which_850_are_the_head() -> None:
    whole = make_method(Settings(method="fedavg"), (3, 32, 32), 10)
    base = make_method(Settings(method="fedper"), (3, 32, 32), 10)
    assert whole.initial().size == 121_182
    assert base.initial().size == 120_332


@pytest.mark.parametrize(("layers", "size"), [(0, 0), (1, 8 * CLASSES + CLASSES), (2, 8 * CLASSES + CLASSES + 129 * 8)])
def test_the_last_layers_stay(layers: int, size: int) -> None:
    method = method_of("fedper", **{"fedper.personal-layers": layers})
    assert isinstance(method, LayeredMethod)
    assert sum(t.numel() for t in method.split.own.values()) == size


def test_the_head_starts_alike_for_all_and_other_seeds_start_elsewhere() -> None:
    first, second = (SoftmaxNetwork.initial(settings_of("fedavg", seed=s), SHAPE, CLASSES) for s in (0, 1))
    again = SoftmaxNetwork.initial(settings_of("fedavg", seed=0), SHAPE, CLASSES)
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, second.head.weight)


def test_a_personal_layer_of_another_network_is_refused() -> None:
    from pfedgp_core.errors import DataError

    method = method_of("fedper")
    with pytest.raises(DataError, match="own state has 3 values where this model has 36"):
        method.update(method.initial(), np.zeros(3, np.float32), data(0), Stream(0, "train", 1, "a"))
