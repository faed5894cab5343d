"""Kernel networks: shapes, reproducible initialisation, networks without batch normalisation, import paths."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from pfedgp_core.errors import ConfigError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.model import network as module
from pfedgp_core.model.network import MLP, NETWORKS, LeNet, build_network, feature_width, register_network

DEEP = pytest.mark.parametrize("name", ["resnet18", "mobilenetv2"])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int, shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randn(n, *shape, generator=generator(seed))


@pytest.fixture
def register(monkeypatch):
    """register_network, undone after the test."""
    monkeypatch.setattr(module, "NETWORKS", dict(NETWORKS))
    return register_network


# LeNet and MLP


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
    assert features.shape == (3, 11) and features.isfinite().all()


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


# Initialisation


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
    assert first.dtype == torch.float32 and first.isfinite().all()


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
        assert 0.97 * bound < layer.weight.abs().max() <= bound and layer.bias.abs().max() <= bound
        assert abs(layer.weight.std() / bound - 3**-0.5) < 0.05


def test_threads_do_not_disturb_each_other():
    def weight(seed):
        return build_network("lenet", (1, 8, 8), generator=generator(seed)).linear1.weight

    alone = [weight(seed) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(weight, range(12)))
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


# ResNet-18 and MobileNetV2


@DEEP
def test_deep_networks_have_no_statistics(name):
    network = build_network(name, (3, 32, 32), feature_dim=84)
    assert not list(network.buffers())
    assert not [m for m in network.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    inputs = images(6, (3, 32, 32))
    state = torch.get_rng_state()
    features = network(inputs)
    assert torch.equal(state, torch.get_rng_state())  # no dropout
    assert features.shape == (6, 512) and feature_width(network, (3, 32, 32)) == 512
    torch.testing.assert_close(features[1:2], network(inputs[1:2]), rtol=1e-3, atol=1e-4)


@DEEP
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_deep_networks_start_well_scaled(name, seed):
    network = build_network(name, (3, 32, 32), generator=generator(seed))
    features = network(images(16, (3, 32, 32)))
    assert features.isfinite().all()
    assert 0.02 < features.detach().std() < 3
    assert (features - features.mean(0)).detach().std() > 0.01  # inputs stay apart
    features.square().sum(1).mean().backward()
    norms = torch.stack([p.grad.norm() for p in network.parameters()])
    assert norms.isfinite().all() and norms.min() > 1e-4 and norms.max() < 1e4


@DEEP
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (4, 33, 65)])
def test_deep_networks_take_any_image(name, shape):
    assert build_network(name, shape)(images(2, shape)).isfinite().all()


@DEEP
def test_deep_networks_refuse_vectors(name):
    with pytest.raises(ConfigError, match=f"network = '{name}' cannot take inputs of shape 12"):
        build_network(name, (12,))


@DEEP
def test_deep_networks_can_be_trained(name):
    network = build_network(name, (1, 32, 32), generator=generator(3))
    inputs, labels = images(8, (1, 32, 32)), torch.arange(8) % 2
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    losses = []
    for _ in range(25):
        scores = 10 * unit_sphere(network(inputs))[:, :2]
        loss = nn.functional.cross_entropy(scores, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_torchvision_is_loaded_late_and_its_absence_explained():
    script = """
        import sys
        import pfedgp_core.model.network as network
        assert "torchvision" not in sys.modules
        network.build_network("auto", (1, 8, 8))
        assert "torchvision" not in sys.modules
        sys.modules["torchvision"] = None
        try:
            network.build_network("resnet18", (3, 32, 32))
        except network.ConfigError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert "network = 'resnet18' cannot be built" in done.stdout and "torchvision" in done.stdout


# Networks of the user


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
    assert network.training and network[2].num_batches_tracked == 0  # the trial leaves no trace
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
        ("resnet", "is not known; choose one of: auto, lenet, mlp, resnet18, mobilenetv2, or package.module:function"),
    ],
)
def test_mistakes_of_the_user_are_named(user_package, name, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build_network(name, (5,), 9)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_register_network(register):
    register("wide", lambda shape, width: nn.Linear(shape[0], 2 * width))
    assert feature_width(build_network("wide", (5,), 10), (5,)) == 20
    assert "wide" not in NETWORKS  # the fixture's copy


@pytest.mark.parametrize("name", ["", "auto", "a:b", "lenet"])
def test_names_that_cannot_be_registered(register, name):
    with pytest.raises(ConfigError, match="name"):
        register(name, lambda shape, width: nn.Linear(shape[0], width))
    register("lenet", LeNet)  # again the same: no conflict
