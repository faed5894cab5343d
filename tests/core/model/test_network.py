"""The kernel networks LeNet and MLP: sizes, layers, initialisation."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from pfedgp_core.errors import ConfigError
from pfedgp_core.model.lenet import LeNet
from pfedgp_core.model.mlp import MLP
from pfedgp_core.model.network import build_network


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int, shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randn(n, *shape, generator=generator(seed))


@pytest.mark.parametrize(
    ("shape", "kernel", "flat"),
    [((3, 32, 32), 5, 800), ((1, 28, 28), 5, 512), ((1, 8, 8), 3, 128), ((3, 16, 16), 5, 32), ((1, 15, 40), 3, 960)],
)
def test_lenet_is_sized_to_its_input(shape, kernel, flat):
    network = build_network("lenet", shape)
    sizes = {name: tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")}
    assert sizes == {
        "conv1.weight": (16, shape[0], kernel, kernel),
        "conv2.weight": (32, 16, kernel, kernel),
        "linear1.weight": (120, flat),
        "linear2.weight": (84, 120),
    }


@pytest.mark.parametrize("height", [4, 5, 7, 8, 9, 11, 15, 16, 17, 19, 21, 28, 33, 64])
@pytest.mark.parametrize("width", [4, 8, 13, 16, 23, 32])
def test_lenet_takes_any_size(height, width):
    features = LeNet((2, height, width), 11)(images(3, (2, height, width)))
    assert features.shape == (3, 11)
    assert features.isfinite().all()


@pytest.mark.parametrize("shape", [(1, 3, 8), (1, 8, 2), (3, 1, 1), (32, 32), (5,), (1, 3, 32, 32)])
def test_lenet_refuses_what_is_no_image(shape):
    with pytest.raises(ConfigError, match="network = 'lenet' cannot take inputs of shape"):
        build_network("lenet", shape)


def test_lenet_computes_the_layers_of_the_paper():
    network, inputs = build_network("lenet", (3, 32, 32)), images(5, (3, 32, 32))
    paper = nn.Sequential(
        network.conv1, nn.ReLU(), nn.MaxPool2d(2), network.conv2, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        network.linear1, nn.ReLU(), network.linear2,
    )  # fmt: skip
    torch.testing.assert_close(network(inputs), paper(inputs))

    def gradients(forward):
        network.zero_grad()
        forward(inputs).square().sum().backward()
        return [p.grad.clone() for p in network.parameters()]

    for got, wanted in zip(gradients(network), gradients(paper), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


def test_rows_do_not_depend_on_each_other():
    network, inputs = build_network("lenet", (1, 8, 8)), images(6, (1, 8, 8))
    torch.testing.assert_close(network(inputs)[2:3], network(inputs[2:3]))
    assert network(inputs[:0]).shape == (0, 84)


def test_mlp():
    network = build_network("mlp", (13,), feature_dim=7)
    assert [tuple(p.shape) for p in network.parameters()] == [(128, 13), (128,), (128, 128), (128,), (7, 128), (7,)]
    assert network(torch.randn(4, 13, generator=generator())).shape == (4, 7)
    assert build_network("mlp", (1, 8, 8))(images(4, (1, 8, 8))).shape == (4, 84)


def test_auto():
    assert isinstance(build_network("auto", (3, 32, 32)), LeNet)
    assert isinstance(build_network("auto", (30,)), MLP)
    with pytest.raises(ConfigError, match="have shape 8 x 8; set network='mlp'"):
        build_network("auto", (8, 8))


@pytest.mark.parametrize(("shape", "feature_dim"), [((), 84), ((0,), 84), ((3, 0, 8), 84), ((3,), 0), ((-1,), 84)])
def test_sizes_are_positive(shape, feature_dim):
    with pytest.raises(ConfigError, match="are not positive"):
        build_network("auto", shape, feature_dim)


@pytest.mark.parametrize("name", ["lenet", "mlp", "resnet18", "mobilenetv2"])
def test_initial_parameters_come_from_the_generator(name):
    def vector(seed):
        parameters = build_network(name, (3, 32, 32), generator=generator(seed)).parameters()
        return nn.utils.parameters_to_vector(parameters).detach()

    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = vector(0)
    assert torch.equal(state, torch.get_rng_state())
    torch.manual_seed(2)
    assert torch.equal(first, vector(0))
    assert not torch.equal(first, vector(1))
    assert first.dtype == torch.float32
    assert first.isfinite().all()


def test_generator_advances_and_the_default_is_seed_0():
    shared = generator(0)
    first, second = (build_network("mlp", (3,), generator=shared) for _ in range(2))
    assert not torch.equal(first.linear1.weight, second.linear1.weight)
    assert torch.equal(first.linear1.weight, build_network("mlp", (3,)).linear1.weight)


def test_initialisation_is_the_usual_one():
    """Uniform within 1 / sqrt(fan_in), weights and biases."""
    network = build_network("lenet", (3, 32, 32), generator=generator(4))
    for layer, fan_in in ((network.conv1, 75), (network.conv2, 400), (network.linear1, 800), (network.linear2, 120)):
        bound = fan_in**-0.5
        assert 0.97 * bound < layer.weight.abs().max() <= bound
        assert layer.bias.abs().max() <= bound
        assert abs(layer.weight.std() / bound - 3**-0.5) < 0.05


def test_threads_do_not_disturb_each_other():
    def weight(seed):
        return build_network("lenet", (1, 8, 8), generator=generator(seed)).linear1.weight

    alone = [weight(seed) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(weight, range(12)))
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))
