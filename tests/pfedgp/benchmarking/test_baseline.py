"""The epoch of a plain network that updates are compared with."""

import torch

from pfedgp.benchmarking.baseline import PlainEpoch
from pfedgp.benchmarking.images import digit_images
from pfedgp.benchmarking.warm_start import trained_network
from pfedgp_core.config import Settings
from pfedgp_core.numerics.streams import Stream


def test_the_plain_epoch_trains_a_copy_and_starts_anew() -> None:
    network = trained_network(0)
    before = [p.clone() for p in network.parameters()]
    data = digit_images((3, 8), 256, Stream(2))
    epoch = PlainEpoch(network, data, Settings(), Stream(3), batch=32)

    def loss() -> float:
        with torch.no_grad():
            return float(torch.nn.functional.cross_entropy(epoch.model(data.inputs), data.labels))

    first = loss()
    epoch.run()
    assert loss() < first
    epoch.reset()
    assert loss() == first
    assert all(torch.equal(p, q) for p, q in zip(network.parameters(), before, strict=True))
