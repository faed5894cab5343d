"""Frozen backbones: which files they come from, what travels, and what an update leaves as it was."""

import hashlib
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torchvision import models

from pfedgp_core.backbones import VARIABLE, FrozenName, declare_backbones, declared_backbones
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.frozen import FrozenNetwork, frozen_network, pinned_name
from pfedgp_core.model.network import build_network
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from tests.backbones import WIDTH, backbone, write_backbone

SHAPE = (1, 8, 8)
QUICK = Settings(network="frozen:small", feature_dim=16)


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, "")
    file = write_backbone(tmp_path / "small.ts")
    declare_backbones([f"small={file}"])
    return file


def inputs(count: int = 6) -> Tensor:
    return torch.randn(count, *SHAPE, generator=torch.Generator().manual_seed(1))


def test_the_backbones_centred_features_keep_their_distances(declared: Path) -> None:
    network = build_network("frozen:small", SHAPE, 16)
    with torch.no_grad():
        features, made = backbone()(inputs()).flatten(1), network(inputs())
    centred = nn.functional.layer_norm(features, (WIDTH,))
    torch.testing.assert_close(torch.cdist(made, made), torch.cdist(centred, centred), rtol=1e-5, atol=1e-5)


def test_the_projection_alone_travels_and_is_trained(declared: Path) -> None:
    shared = SharedState.initial(QUICK, SHAPE, 10)
    assert shared.size == WIDTH * 16
    network = shared.network
    assert isinstance(network, FrozenNetwork)
    frozen = {key: tensor.clone() for key, tensor in network.backbone.state_dict().items()}
    before = shared.to_vector()
    data = TensorSplit(inputs(40), torch.arange(40) % 4)
    local_update(shared, data, QUICK.replace(local_epochs=2), Stream(0, "test"))
    assert (shared.to_vector() != before).any()
    assert all(torch.equal(tensor, frozen[key]) for key, tensor in network.backbone.state_dict().items())


def test_a_server_without_the_weights_has_the_same_first_model(declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = QUICK.replace(network=pinned_name("frozen:small", SHAPE), variant="ip-compute")
    at_site = SharedState.initial(settings, SHAPE, 10).to_vector()
    monkeypatch.setenv(VARIABLE, "")
    assert (SharedState.initial(settings, SHAPE, 10).to_vector() == at_site).all()
    with pytest.raises(
        ConfigError, match="The weights of network = 'frozen:small' are not here: start with --backbone"
    ):
        build_network(settings.network, SHAPE, 16)(inputs())


def test_a_pinned_name_holds_width_and_hash(declared: Path) -> None:
    pinned = pinned_name("frozen:small", SHAPE)
    assert FrozenName.parse(pinned) == ("small", WIDTH, hashlib.sha256(declared.read_bytes()).hexdigest())
    assert pinned_name(pinned, SHAPE) == pinned


def test_another_file_than_the_run_wants_is_refused(declared: Path, tmp_path: Path) -> None:
    pinned = pinned_name("frozen:small", SHAPE)
    declare_backbones([f"small={write_backbone(tmp_path / 'other.ts', seed=1)}"])
    with pytest.raises(ConfigError, match="and the run wants"):
        build_network(pinned, SHAPE)


@pytest.mark.parametrize("grey", [True, False])
def test_an_architecture_of_torchvision_without_its_head(
    grey: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    whole = models.shufflenet_v2_x0_5(num_classes=3).eval()  # a head of its own
    save_file(whole.state_dict(), tmp_path / "weights.safetensors")
    torch.save(whole.state_dict(), tmp_path / "weights.pth")
    declare_backbones([f"{kind}=shufflenet_v2_x0_5@{tmp_path}/weights.{kind}" for kind in ("safetensors", "pth")])
    given = torch.randn(2, 1 if grey else 3, 64, 64)
    whole.fc = nn.Identity()
    with torch.no_grad():
        expected = whole(given.expand(-1, 3, -1, -1))
        found = [frozen_network(f"frozen:{kind}", given.shape[1:], 8).backbone(given) for kind in declared_backbones()]
    assert all(torch.equal(features, expected) for features in found)


def test_inputs_of_another_kind_are_named(declared: Path) -> None:
    with pytest.raises(ConfigError, match="cannot take inputs of shape"):
        build_network("frozen:small", (3, 8, 8))


@pytest.mark.parametrize("content", [b"", b"junk" * 100, b"PK\x03\x04" + bytes(50)])
@pytest.mark.parametrize("kind", ["", "resnet18@", "nonsense@"])
def test_files_that_hold_no_weights(content: bytes, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    (tmp_path / "file.pth").write_bytes(content)
    declare_backbones([f"bad={kind}{tmp_path}/file.pth"])
    with pytest.raises(ConfigError, match=r"holds no|none of torchvision's"):
        build_network("frozen:bad", (3, 32, 32))


@pytest.mark.parametrize(
    "name",
    ["frozen:", "frozen:a/b", "frozen:a:5", f"frozen:a:5:{'g' * 64}", f"frozen:a:99999:{'0' * 64}", "frozen:a\n"],
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ConfigError, match="names no frozen backbone"):
        build_network(name, SHAPE)


@pytest.mark.parametrize("text", ["", "a", "a=", "a/b=c", "=c", "a=b\nc=d"])
def test_what_declares_no_backbone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(ConfigError, match="is no backbone: give NAME=FILE"):
        declare_backbones([text])


def test_a_name_without_a_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(ConfigError, match="needs the weights of its backbone: start with --backbone lung=FILE"):
        build_network("frozen:lung", SHAPE)
    with pytest.raises(ConfigError, match="There is no file /nowhere"):
        declare_backbones(["lung=/nowhere"])
