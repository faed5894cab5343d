"""What defines FedAvg: one whole step by sample counts is a step on the pooled data, in whatever order clients come."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from pfedgp_core.methods.base import Upload
from pfedgp_core.model.softmax_network import SoftmaxNetwork
from pfedgp_core.numerics.streams import Stream
from tests.core.methods.test_layered import CLASSES, SHAPE, data, method_of, settings_of

SIZES = {"a": 8, "b": 12, "c": 16}
STEP = {"local-steps": 1, "batch-size": 16, "momentum": 0.0, "aggregation": "samples"}


def after_a_round(clients: Sequence[str]) -> np.ndarray:
    """The server's state after one whole step of clients of unequal size, that come in this order."""
    method = method_of("fedavg", **STEP)
    start, uploads = method.initial(), []
    for name in clients:
        update = method.update(start, None, data(ord(name), SIZES[name]), Stream(0, "train", 1, name))
        assert update.upload is not None
        uploads.append(Upload(name, update.upload, start, SIZES[name]))
    return method.step(start, uploads)


def test_one_whole_step_weighted_by_samples_is_gradient_descent_on_the_pooled_data() -> None:
    settings = settings_of("fedavg", **STEP)
    network = SoftmaxNetwork.initial(settings, SHAPE, CLASSES)
    optimiser = torch.optim.SGD(network.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    samples = [data(ord(name), size) for name, size in SIZES.items()]
    inputs, labels = torch.cat([each.inputs[:] for each in samples]), torch.cat([each.labels for each in samples])
    nn.functional.cross_entropy(network(inputs), labels).backward()
    optimiser.step()
    pooled = torch.cat([p.detach().reshape(-1) for p in network.parameters()]).numpy()
    start = method_of("fedavg").initial()
    np.testing.assert_allclose(after_a_round("abc") - start, pooled - start, atol=1e-6)
    assert np.abs(pooled - start).max() > 1e-3


def test_the_order_of_the_clients_does_not_matter() -> None:
    np.testing.assert_allclose(after_a_round("cab"), after_a_round("abc"), rtol=0, atol=1e-7)
