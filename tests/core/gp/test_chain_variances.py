"""Variances of all chains from one factorisation, at and near the training points, against a factor a chain."""

import pytest
import torch

from experiments.solver_accuracy import clusters, overlapping, separable
from pfedgp_core.gp.chain_variances import ChainVariances, ProjectedVariances, shifted
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream


def largest_error(exact, fast, points, omega):
    """Of the node's probabilities at some points."""
    wanted, found = (node_log_probabilities(*gp.predict(points, omega))[0].exp() for gp in (exact, fast))
    return (wanted - found).abs().max()


@pytest.mark.parametrize("made", [separable, clusters, overlapping])
@pytest.mark.parametrize("scale", [8.0, 32.0, 128.0])
def test_probabilities_at_training_points_are_those_of_the_dense_path(made, scale):
    inputs, labels = made(120, seed=1)
    kernel = make_kernel("rbf", scale, 1.0)
    exact, fast = (FullGP(kernel, inputs, labels, 1e-3, solver=solver) for solver in ("dense", "iterative"))
    omega = exact.sample_omega(30, 10, Stream(0, "omega"))
    assert largest_error(exact, fast, inputs, omega) < 1e-3


@pytest.mark.parametrize("scale", [8.0, 128.0])
def test_probabilities_at_inducing_inputs_that_are_training_points_too(scale):
    inputs, labels = overlapping(150, seed=1)
    kernel = make_kernel("rbf", scale, 1.0)
    exact, fast = (FITC(kernel, inputs, labels, inputs[:60], 1e-3, solver=solver) for solver in ("dense", "iterative"))
    omega = exact.sample_omega(30, 10, Stream(0, "omega"))
    assert largest_error(exact, fast, inputs[:60], omega) < 1e-3


def test_a_single_point_s_variance_is_exact_in_every_chain():
    K = torch.tensor([[30.0]], dtype=torch.float64)
    omega = torch.tensor([[0.001], [0.02], [0.25]], dtype=torch.float64)
    found = ChainVariances.of(K, omega).at(K, K[0])
    torch.testing.assert_close(found, 1 / (1 / K + omega))


def test_a_single_weight_s_variance_is_exact_in_every_chain():
    A, g = torch.tensor([[3.0]], dtype=torch.float64), torch.tensor([[0.01], [2.0]], dtype=torch.float64)
    found = ProjectedVariances.of(A, g).at(A, torch.zeros(1, dtype=torch.float64))
    torch.testing.assert_close(found, 9 / (1 + 9 * g))


def test_every_test_point_has_a_largest_change_of_its_own():
    v, shifts = torch.ones(2), torch.tensor([[0.5, 0.25]])
    found = shifted(v, shifts, torch.eye(2))
    torch.testing.assert_close(found, torch.tensor([[0.5, 0.75]]))  # exact, each being the only change


def test_a_point_without_variance_has_none_in_every_chain():
    assert shifted(torch.zeros(1), torch.tensor([[0.5], [-0.5]]), torch.zeros(1, 1)).eq(0).all()
