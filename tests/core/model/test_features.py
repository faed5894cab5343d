"""Batches and recomputation change memory, not numbers."""

import pytest
import torch

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.model import features
from pfedgp_core.model.features import FeaturePass, compute_features


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()


@pytest.mark.parametrize("keep_bytes", [0, 2**30])
@pytest.mark.parametrize("batch", [4, 1000])
def test_gradient_equals_one_pass(keep_bytes, batch, monkeypatch):
    monkeypatch.setattr(features, "KEEP_GRAPH_BYTES", keep_bytes)
    monkeypatch.setattr(features, "BATCH", batch)
    inputs = torch.randn(11, 3, dtype=torch.float64)
    plain, batched = network(), network()
    plain(inputs).sin().sum().backward()
    passed = FeaturePass(batched, inputs)
    passed.features.sin().sum().backward()
    passed.backward()
    for a, b in zip(plain.parameters(), batched.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    torch.testing.assert_close(compute_features(batched, inputs), plain(inputs).detach())


def test_non_finite_output_is_named():
    bad = network()
    with torch.no_grad():
        bad[0].weight.fill_(torch.nan)
    with pytest.raises(NonFiniteError, match="non-finite features"):
        compute_features(bad, torch.ones(2, 3, dtype=torch.float64))
