"""Cached predictions are those of the GPs themselves."""

import pytest
import torch

from pfedgp_core.gp import prediction_cache
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream


def node(n: int, inducing: int, solver: str) -> tuple[FullGP | FITC, torch.Tensor, torch.Tensor]:
    draw = Stream(3, "cache")
    labels = torch.arange(n) < n // 2
    points = unit_sphere(draw.normal(n + 25, 5) + (torch.arange(n + 25) < n // 2).float()[:, None])
    kernel = make_kernel("rbf", torch.tensor(8.0, requires_grad=True), 1.0)
    if inducing:
        gp: FullGP | FITC = FITC(kernel, points[:n], labels, points[-inducing:], 1e-3, solver=solver)
    else:
        gp = FullGP(kernel, points[:n], labels, 1e-3, solver=solver)
    return gp, gp.sample_omega(7, 4, Stream(4)), points[n:]


@pytest.mark.parametrize("solver", ["dense", "iterative", "auto"])
@pytest.mark.parametrize(
    ("n", "inducing"), [(20, 0), (120, 0), (20, 25), (60, 10)], ids=["small", "large", "dual", "M"]
)
def test_moments_equal_the_gp_s_own(n: int, inducing: int, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gp, omega, test = node(n, inducing, solver)
    with torch.no_grad():
        mu, v = gp.predict(test, omega)
    cached = CachedNode(gp, omega)
    known = CachedNode(gp, omega, cached.weights)
    # Too large to keep: two chains and three columns at a time.
    monkeypatch.setattr(prediction_cache, "CHUNK_BYTES", 2 * cached.weights.shape[1] ** 2 * 4)
    for made in (cached, known, CachedNode(gp, omega)):
        for _ in range(2):
            found_mu, found_v = made.moments(test)
            assert not found_mu.requires_grad
            assert not found_v.requires_grad
            torch.testing.assert_close(found_mu, mu, rtol=1e-5, atol=2e-5)
            torch.testing.assert_close(found_v, v, rtol=1e-5, atol=2e-5)
