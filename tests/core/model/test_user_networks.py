"""Networks of the user, by import path or registered name; mistakes are named."""

import sys
import textwrap

import pytest
import torch

from pfedgp_core.errors import ConfigError
from pfedgp_core.model.network import build_network, feature_width
from pfedgp_core.registry import NETWORKS, Entry


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def user_package(tmp_path, monkeypatch):
    """A package of the user, importable as ``user_networks``."""
    (tmp_path / "user_networks.py").write_text(
        textwrap.dedent(
            """
            import torch
            from torch import nn

            constant = 3

            def good(input_shape, feature_dim):
                return nn.Sequential(nn.Flatten(), nn.Linear(input_shape[0], feature_dim), nn.BatchNorm1d(feature_dim))

            def not_a_module(input_shape, feature_dim):
                return "network"

            def wrong_output(input_shape, feature_dim):
                return nn.Unflatten(1, (1, input_shape[0]))

            def wrong_input(input_shape, feature_dim):
                return nn.Linear(input_shape[0] + 1, feature_dim)

            def broken(input_shape, feature_dim):
                raise KeyError("no such layer")

            def seeds_itself(input_shape, feature_dim):
                torch.manual_seed(0)
                return nn.Linear(input_shape[0], feature_dim)
            """
        )
    )
    (tmp_path / "user_syntax.py").write_text("def broken(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("user_networks", None)


def test_import_path(user_package):
    state = torch.get_rng_state()
    network = build_network("user_networks:good", (5,), 9, generator(1))
    assert network.training
    assert network[2].num_batches_tracked == 0
    assert feature_width(network, (5,)) == 9
    assert torch.equal(network[1].weight, build_network("user_networks:good", (5,), 9, generator(1))[1].weight)
    build_network("user_networks:seeds_itself", (5,), 9)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("user_networks:missing", r"cannot be imported \(AttributeError: .*missing"),
        ("user_nothing:good", r"cannot be imported \(ModuleNotFoundError: No module named 'user_nothing'"),
        ("user_syntax:broken", r"cannot be imported \(SyntaxError"),
        ("user_networks:constant", "is not a function"),
        ("user_networks:not_a_module", "returned a str; return a torch.nn.Module"),
        ("user_networks:wrong_output", r"returned \(2, 1, 5\) for 2 inputs"),
        ("user_networks:wrong_input", "cannot take inputs of shape 5"),
        ("user_networks:broken", r"cannot be built for inputs of shape 5 \(KeyError: 'no such layer'\)"),
        (":good", "is not known"),
        ("user_networks:", "is not known"),
        ("", "is not known"),
        (
            "resnet",
            r"is not known; choose one of: auto, lenet, mlp, .* or package.module:function",
        ),
    ],
)
def test_mistakes_of_the_user_are_named(user_package, name, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build_network(name, (5,), 9)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_network_is_a_line_of_the_registry(user_package, monkeypatch):
    monkeypatch.setitem(NETWORKS, "wide", Entry("user_networks:good", "a user's own"))
    by_path = build_network("user_networks:good", (5,), 9)
    assert feature_width(build_network("wide", (5,), 9), (5,)) == feature_width(by_path, (5,))
