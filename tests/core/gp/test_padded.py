"""Nodes that are padded and sampled together: each is what it would be alone, and padding reaches nothing."""

from collections import Counter

import pytest
import torch

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.nodes import sample_nodes
from pfedgp_core.gp.padded import GROUP_BYTES, SMALL, PaddedGPs, padding_groups
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream

SIZES = (9, 4, 6)
TARGETS = (3, 8, 1)


def points(n: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    rows = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(rows).to(dtype)


def nodes(kernel: Kernel, inputs: list[torch.Tensor] | None = None, solver: str = "dense") -> list[FullGP]:
    inputs = inputs or [points(n, n) for n in SIZES]
    return [FullGP(kernel, rows, torch.arange(len(rows)) % 2, 1e-3, solver=solver) for rows in inputs]


def inducing_nodes(kernel: Kernel, solver: str, inducing: torch.Tensor) -> list[FITC]:
    """FITC nodes with more inducing inputs than points, each with inducing inputs of its own."""
    return [
        FITC(kernel, points(n, n), torch.arange(n) % 2, inducing[k:], 1e-3, solver=solver, targets=points(T, 100 + T))
        for k, (n, T) in enumerate(zip(SIZES, TARGETS, strict=True))
    ]


def draws(together: PaddedGPs, chains: int = 5) -> torch.Tensor:
    omega = torch.rand(*together.kappa.shape, chains, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return (0.02 + 0.3 * omega).mT * together.real[:, None]


@pytest.mark.parametrize("name", ["rbf", "linear", "matern12", "matern32", "matern52"])
def test_moments_are_those_of_each_node_alone(name: str) -> None:
    alone = nodes(make_kernel(name, 8.0, 0.7))
    together = PaddedGPs(alone, Counter())
    omega, targets = draws(together), [points(n, 100 + n) for n in TARGETS]
    for gp, draw, rows, moments in zip(
        alone, together.split(omega), targets, together.predict(targets, omega), strict=True
    ):
        torch.testing.assert_close(moments, gp.predict(rows, draw), atol=1e-11, rtol=0)


@pytest.mark.parametrize("name", ["rbf", "matern32"])
def test_gradients_are_those_of_each_node_alone(name: str) -> None:
    gradients = []
    for padded in (True, False):
        scales = torch.tensor([8.0, 0.7], dtype=torch.float64, requires_grad=True)
        inputs = [points(n, n).requires_grad_() for n in SIZES]
        targets = [points(n, 100 + n).requires_grad_() for n in TARGETS]
        alone = nodes(make_kernel(name, *scales), inputs)
        together = PaddedGPs(alone, Counter())
        omega = draws(together)
        if padded:
            moments = together.predict(targets, omega)
        else:
            moments = [gp.predict(r, d) for gp, r, d in zip(alone, targets, together.split(omega), strict=True)]
        loss = sum((k + 1) * (mu.sin().sum() + v.sqrt().sum()) for k, (mu, v) in enumerate(moments))
        gradients.append(torch.autograd.grad(loss, [scales, *inputs, *targets]))
    for ours, alone_gradient in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, alone_gradient, atol=1e-10, rtol=0)


@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_nodes_with_inducing_inputs_have_the_moments_and_gradients_of_each_alone(solver: str) -> None:
    found = []
    for padded in (True, False):
        inducing = points(30, 7).requires_grad_()
        alone = inducing_nodes(make_kernel("rbf", 8.0, 0.7), solver, inducing)
        together = PaddedGPs(alone, Counter())
        omega, targets = draws(together), [gp.targets for gp in alone]
        if padded:
            moments = together.predict(targets, omega)
        else:
            moments = [gp.predict(r, d) for gp, r, d in zip(alone, targets, together.split(omega), strict=True)]
        loss = sum((k + 1) * (mu.sin().sum() + v.sqrt().sum()) for k, (mu, v) in enumerate(moments))
        found.append((loss, *torch.autograd.grad(loss, inducing)))
    for ours, own in zip(*found, strict=True):
        torch.testing.assert_close(ours, own, atol=1e-10 if solver == "dense" else 1e-3, rtol=0)


def test_iterative_nodes_have_the_moments_and_gradients_of_each_alone() -> None:
    """To the tolerance of their solver."""
    found = []
    for padded in (True, False):
        inputs = [points(n, n).requires_grad_() for n in (130, 97, 110)]
        targets = [points(n, 200 + n) for n in (20, 31, 7)]
        kernel = make_kernel("rbf", 8.0, 0.7)
        alone = [FullGP(kernel, rows, torch.arange(len(rows)) % 2, 1e-3, solver="auto") for rows in inputs]
        together = PaddedGPs(alone, Counter())
        omega = draws(together)
        assert together.iterative
        if padded:
            moments = together.predict(targets, omega)
        else:
            moments = [gp.predict(r, d) for gp, r, d in zip(alone, targets, together.split(omega), strict=True)]
        loss = sum(mu.sin().sum() + v.sqrt().sum() for mu, v in moments)
        found.append((loss, *torch.autograd.grad(loss, inputs)))
    for ours, own in zip(*found, strict=True):
        torch.testing.assert_close(ours, own, atol=5e-3, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dense", "iterative"])
def test_latents_given_omega_have_the_law_of_each_node_alone(solver: str) -> None:
    alone = nodes(make_kernel("rbf", 2.0, 0.7), solver=solver)
    together = PaddedGPs(alone, Counter())
    chains = 40_000
    omega = draws(together, 1).expand(-1, chains, -1)
    f, _ = together.draw_latents(omega, Stream(3, "law"))
    for i, (gp, draw) in enumerate(zip(alone, together.split(omega), strict=True)):
        mean, covariance = gp.posterior(draw[:1])
        own = f[i, :, : len(gp.kappa)]
        # Five standard errors of a mean and of a covariance of normal variables.
        limit = 5 * (covariance[0].diagonal() / chains).sqrt()
        assert ((own.mean(0) - mean[0]).abs() < limit).all()
        spread = covariance[0].diagonal()
        assert ((own.T.cov() - covariance[0]).abs() < 5 * (2 * spread[:, None] * spread / chains).sqrt()).all()


@pytest.mark.slow
def test_draws_of_omega_have_the_law_of_each_node_alone() -> None:
    alone = nodes(make_kernel("rbf", 8.0, 0.7))
    chains = 20_000
    streams = [Stream(1, "node", i) for i in range(3)]
    together = sample_nodes(alone, streams, chains, 5, Counter())
    for gp, omega, stream in zip(alone, together, streams, strict=True):
        expected = gp.sample_omega(chains, 5, stream.child("alone"))
        error = ((omega.var(0) + expected.var(0)) / chains).sqrt()
        assert ((omega.mean(0) - expected.mean(0)).abs() < 5 * error).all()
        assert ((omega.std(0) / expected.std(0)).log().abs() < 0.1).all()


def test_no_variable_is_drawn_for_a_padded_point() -> None:
    together = PaddedGPs(nodes(make_kernel("rbf", 8.0, 0.7)), Counter())
    omega = together.sample_omega(4, 2, Stream(0))
    assert (omega[~together.real[:, None].expand_as(omega)] == 0).all()
    assert (omega[together.real[:, None].expand_as(omega)] > 0).all()


def test_what_a_padded_point_holds_changes_nothing() -> None:
    alone = nodes(make_kernel("rbf", 8.0, 0.7))
    together = PaddedGPs(alone, Counter())
    omega, rows = draws(together), [points(n, 100 + n) for n in TARGETS]
    before = together.predict(rows, omega)
    together.inputs = torch.where(together.real[..., None], together.inputs, 5.0)
    for (mu, v), (other_mu, other_v) in zip(before, together.predict(rows, omega), strict=True):
        torch.testing.assert_close((mu, v), (other_mu, other_v), atol=1e-11, rtol=0)


def test_one_node_alone_keeps_its_bits() -> None:
    (gp,) = nodes(make_kernel("rbf", 8.0, 0.7), [points(9, 9)])
    (omega,) = sample_nodes([gp], [Stream(4)], 3, 2, Counter())
    assert torch.equal(omega, gp.sample_omega(3, 2, Stream(4)))


@pytest.mark.parametrize("sizes", [(40, 40, 22, 21, 11, 8, 4, 2), (95,), (12, 1, 1), (), tuple(range(1, 90, 3))])
@pytest.mark.parametrize("waste", [1.0, 1.5, 2.0])
def test_groups_hold_every_node_once_and_waste_no_more_than_stated(sizes: tuple[int, ...], waste: float) -> None:
    groups = padding_groups(sizes, 4, waste)
    assert sorted(i for group in groups for i in group) == list(range(len(sizes)))
    for group in ([sizes[i] for i in group] for group in groups):
        assert max(group) <= SMALL or len(group) * max(group) ** 2 <= waste * sum(n**2 for n in group)


def test_a_small_node_is_not_padded_to_a_large_one() -> None:
    assert padding_groups((40, 5, 30, 90, 21, 12), 4) == [[3], [0, 2], [4, 5, 1]]


def test_the_memory_of_a_group_has_a_bound() -> None:
    chains, n = 20, 1000
    entry_bytes = 4 * chains
    assert n**2 * entry_bytes > GROUP_BYTES
    assert padding_groups((n, n, 90), entry_bytes) == [[0], [1], [2]]
    assert all(len(group) * 90**2 * entry_bytes <= GROUP_BYTES for group in padding_groups((90,) * 500, entry_bytes))


def test_a_chain_that_is_not_finite_is_counted_and_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    counters: Counter[str] = Counter()
    together = PaddedGPs(nodes(make_kernel("rbf", 8.0, 0.7)), counters)
    original = together.draw_latents

    def broken(omega: torch.Tensor, stream: Stream) -> tuple[torch.Tensor, torch.Tensor]:
        f, prior = original(omega, stream)
        f[1, 2, 0] = torch.nan
        return f, prior

    monkeypatch.setattr(together, "draw_latents", broken)
    assert torch.isfinite(together.sample_omega(4, 3, Stream(0))).all()
    assert counters["chain_redrawn"] == 3
