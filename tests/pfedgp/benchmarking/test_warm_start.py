"""The weights that the benchmark starts from."""

import torch

from pfedgp.benchmarking.images import INPUT_SHAPE, digit_images, easily_confused
from pfedgp.benchmarking.warm_start import spectrum, trained_network, trained_state
from pfedgp_core.model.network import build_network
from pfedgp_core.numerics.streams import Stream


def test_trained_weights_give_a_kernel_matrix_of_realistic_rank() -> None:
    rank = spectrum(2, 0)
    untrained = build_network("lenet", INPUT_SHAPE)
    probe = digit_images(easily_confused(2), 400, Stream(0, "probe", 2))
    assert 60 < rank < 250
    with torch.no_grad():
        assert not torch.allclose(untrained(probe.inputs[:2]), trained_network(0)(probe.inputs[:2]))
    inducing = trained_state("ip-compute", 50, 0).inducing
    assert inducing is not None
    assert inducing.shape == (10, 50, 84)
