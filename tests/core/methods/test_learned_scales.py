"""Learned scales have a step size of their own: they move, by a bounded step, and move nothing else."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.methods.update import LARGEST_SCALE_STEP, local_update
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream


def settings_of(rate: float | None = None) -> Settings:
    more = {} if rate is None else {"scale_rate": rate}
    return Settings(network="mlp", feature_dim=8, gp=GPSettings(output_scale=8.0, learn_scales=True, **more))


def data(n: int = 20) -> TensorSplit:
    labels = torch.arange(n) % 2
    return TensorSplit(torch.randn(n, 6, generator=torch.Generator().manual_seed(0)) + 2.0 * labels[:, None], labels)


def trained(settings: Settings, updates: int) -> SharedState:
    state = SharedState.initial(settings, (6,), 2)
    for t in range(updates):
        local_update(state, data(), settings, Stream(0, "train", t, "a"))
    return state


def scales(state: SharedState) -> np.ndarray:
    assert state.log_scales is not None
    return state.log_scales.detach().numpy().copy()


def moved(settings: Settings, updates: int) -> np.ndarray:
    return np.abs(scales(trained(settings, updates)) - scales(trained(settings, 0)))


def test_they_move_by_default_and_hardly_at_the_rate_of_the_weights() -> None:
    own, as_weights = (moved(settings_of(rate), 30)[0] for rate in (None, 1.0))
    assert own > 0.3
    assert own > 5 * as_weights


def test_a_step_is_bounded() -> None:
    assert moved(settings_of(1e4), 1).max() <= LARGEST_SCALE_STEP + 1e-3  # and the weight decay
    assert moved(settings_of(0.0), 1).max() < 1e-3


def test_the_first_step_of_the_network_does_not_depend_on_it() -> None:
    states = [trained(settings_of(rate), 1) for rate in (0.0, 1.0, 20.0)]
    networks = [torch.nn.utils.parameters_to_vector(state.network.parameters()) for state in states]
    assert all(torch.equal(networks[0], other) for other in networks[1:])
    assert len({scales(state).tobytes() for state in states}) == 3


@pytest.mark.parametrize("rate", [1.0, 20.0])
def test_scales_that_are_not_learned_are_not_there(rate: float) -> None:
    settings = Settings(network="mlp", feature_dim=8, gp=GPSettings(scale_rate=rate))
    assert trained(settings, 1).log_scales is None
