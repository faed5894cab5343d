"""The sampler: right stationary law, restart of a broken chain, a named error where nothing is finite."""

from collections import Counter

import pytest
import torch

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.gp import gibbs
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream

X = torch.nn.functional.normalize(torch.randn(12, 4, generator=torch.Generator().manual_seed(0)))
Y = torch.tensor([1, 0] * 6)


def model(counters=None):
    return FullGP(make_kernel("rbf", 8.0, 1.0), X, Y, 1e-3, counters)


def test_chains_are_reproducible_and_independent():
    first, again = (gibbs.run(model(), 6, 3, Stream(1, "chains")) for _ in range(2))
    assert torch.equal(first.omega, again.omega)
    assert not torch.equal(first.omega, gibbs.run(model(), 6, 3, Stream(2, "chains")).omega)
    assert first.f.shape == first.omega.shape == (6, 12)
    assert (first.omega > 0).all()
    assert len(first.omega[:, 0].unique()) == 6


def test_omega_follows_its_conditional_mean():
    state = gibbs.run(model(), 4000, 5, Stream(0, "mean"))
    expected = torch.tanh(state.f.abs() / 2) / (2 * state.f.abs())
    torch.testing.assert_close(state.omega.mean(0), expected.mean(0), atol=0.01, rtol=0)


class OneBrokenChain(gibbs.LatentModel):
    """Delegates to a sound model, but chain 2 becomes NaN in every draw of the conditional."""

    def __init__(self):
        self.model = model()

    def draw_prior(self, chains, stream):
        return self.model.draw_prior(chains, stream)

    def draw_latents(self, omega, stream):
        f, prior = self.model.draw_latents(omega, stream)
        f[2] = torch.nan
        return f, prior


def test_a_broken_chain_is_redrawn_and_counted_and_the_rest_kept():
    counters = Counter()
    broken = gibbs.run(OneBrokenChain(), 5, 4, Stream(3, "x"), counters)
    sound = gibbs.run(model(), 5, 4, Stream(3, "x"))
    assert counters["chain_redrawn"] == 4
    assert torch.isfinite(broken.f).all()
    assert torch.isfinite(broken.omega).all()
    assert broken.f.shape == sound.f.shape


def test_nothing_finite_is_an_error_not_a_hang():
    bad = FullGP(make_kernel("rbf", 8.0, 1.0), torch.full((4, 2), torch.nan), torch.tensor([1, 0, 1, 0]), 1e-3)
    with pytest.raises(NonFiniteError):
        bad.sample_omega(3, 2, Stream(0))
