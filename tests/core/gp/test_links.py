"""Node probabilities: symmetry of the default, the documented asymmetry of the paper's link."""

import pytest
import torch

from pfedgp_core.gp.links import node_log_probabilities

MU = torch.tensor([[0.0, 2.0, -30.0, 100.0], [0.5, 1.0, -40.0, 90.0]])
V = torch.tensor([[8.0, 1.0, 4.0, 8.0], [8.0, 0.5, 4.0, 8.0]])


@pytest.mark.parametrize("link", ["arith", "chain-geo"])
def test_swapping_the_children_swaps_the_probabilities(link):
    left, right = node_log_probabilities(MU, V, link)
    swapped_left, swapped_right = node_log_probabilities(-MU, V, link)
    torch.testing.assert_close(left, swapped_right)
    torch.testing.assert_close(right, swapped_left)


@pytest.mark.parametrize("link", ["arith", "chain-geo", "paper-explog"])
def test_sides_sum_to_one_and_stay_finite_in_the_tails(link):
    left, right = node_log_probabilities(MU, V, link)
    assert torch.isfinite(left).all()
    assert torch.isfinite(right).all()
    torch.testing.assert_close(left.exp() + right.exp(), torch.ones(4), atol=1e-5, rtol=0)


def test_the_papers_link_leans_to_the_right_child():
    # Zero mean, prior variance 8: the exact answer is one half, the published code says 0.263.
    left, _ = node_log_probabilities(torch.zeros(1, 1), torch.full((1, 1), 8.0), "paper-explog")
    assert left.exp().item() == pytest.approx(0.263, abs=2e-3)
    left, _ = node_log_probabilities(torch.zeros(1, 1), torch.full((1, 1), 8.0), "arith")
    assert left.exp().item() == pytest.approx(0.5, abs=1e-6)
