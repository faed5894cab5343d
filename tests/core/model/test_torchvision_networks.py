"""ResNet-18 and MobileNetV2: no statistics, good scale at the start, any image."""

import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

from pfedgp_core.errors import ConfigError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.model.network import build_network, feature_width

DEEP = pytest.mark.parametrize("name", ["resnet18", "mobilenetv2"])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int, shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    return torch.randn(n, *shape, generator=generator(seed))


@DEEP
def test_deep_networks_have_no_statistics(name):
    network = build_network(name, (3, 32, 32), feature_dim=84)
    assert not list(network.buffers())
    assert not [m for m in network.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    inputs = images(6, (3, 32, 32))
    state = torch.get_rng_state()
    features = network(inputs)
    assert torch.equal(state, torch.get_rng_state())  # no dropout
    assert features.shape == (6, 512)
    assert feature_width(network, (3, 32, 32)) == 512
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
    assert norms.isfinite().all()
    assert norms.min() > 1e-4
    assert norms.max() < 1e4


@DEEP
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (4, 33, 65)])
def test_deep_networks_take_any_image(name, shape):
    assert build_network(name, shape)(images(2, shape)).isfinite().all()


@DEEP
def test_deep_networks_refuse_vectors(name):
    with pytest.raises(ConfigError, match=f"network = '{name}' cannot take inputs of shape 12"):
        build_network(name, (12,))


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "network = 'resnet18' cannot be built" in done.stdout
    assert "torchvision" in done.stdout
