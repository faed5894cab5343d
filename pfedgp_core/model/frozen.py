"""A frozen backbone under a small projection that the federation trains.

The backbone's weights lie at each site and never travel: they are no parameters of this network. Its features are
centred, each sample by itself, and projected; the projection is orthogonal at first, so that it keeps distances where
it is as wide as the backbone, and nearly keeps them where it is narrower. So it is of use before any training.
"""

import hashlib

import torch
from torch import Tensor, nn

from pfedgp_core.backbones import WIDEST, Backbone, FrozenName, declared_backbones
from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files.regular import one_line, read_regular
from pfedgp_core.files.torch_weights import scripted_network, state_of

__all__ = ["FrozenNetwork", "frozen_network", "pinned_name"]

LARGEST = 4 * 1024**3  # bytes of a file of weights


class FrozenNetwork(nn.Module):
    """Features of a frozen backbone, and a linear map of them without bias, which alone is trained.

    Parameters
    ----------
    name : FrozenName
        Pinned.
    backbone : nn.Module or None
        Maps [N, *input_shape] to [N, ...], flattened to ``name.width`` features; None on a machine that needs the
        projection alone, such as a server.
    feature_dim : int
        Width of the output.

    Attributes
    ----------
    projection : nn.Linear
        Orthogonal at first, from torch's global generator.
    width : int
        Of the output.
    """

    backbone: nn.Module | None

    def __init__(self, name: FrozenName, backbone: nn.Module | None, feature_dim: int) -> None:
        super().__init__()
        self.name, self.width = name, feature_dim
        for parameter in () if backbone is None else backbone.parameters():
            parameter.requires_grad_(False)
        # Beside the registered modules, so that neither messages nor optimisers nor train() find it.
        self.__dict__["backbone"] = None if backbone is None else backbone.eval()
        self.projection = nn.Linear(name.width, feature_dim, bias=False)
        nn.init.orthogonal_(self.projection.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shapes: [N, *input_shape] -> [N, feature_dim].

        Raises
        ------
        ConfigError
            The backbone's weights are not on this machine, or it gives features of another width.
        """
        if self.backbone is None:
            raise ConfigError(f"The weights of network = 'frozen:{self.name.name}' are not here: {_remedy(self.name)}")
        features = _run(self.backbone.to(inputs.device), inputs)
        if features.shape[1:] != (self.name.width,):
            raise ConfigError(
                f"The backbone {self.name.name!r} gives features of shape {tuple(features.shape[1:])}, and the run "
                f"wants {self.name.width}: give inputs of the shape that it was made for."
            )
        centred = nn.functional.layer_norm(features, (self.name.width,))
        projected: Tensor = self.projection(centred)
        return projected


def frozen_network(setting: str, input_shape: tuple[int, ...], feature_dim: int) -> FrozenNetwork:
    """The network of a setting ``frozen:NAME``, with its backbone where this machine's operator gave one.

    Raises
    ------
    ConfigError
        The setting names no backbone; its file cannot be read, or is another than the run wants; or it is not pinned
        and there is no file.
    """
    name = FrozenName.parse(setting)
    given = declared_backbones().get(name.name)
    if given is None:
        if not name.sha256:
            raise ConfigError(f"network = {setting!r} needs the weights of its backbone: {_remedy(name)}")
        return FrozenNetwork(name, None, feature_dim)
    with torch.random.fork_rng(devices=[]):  # an architecture draws weights, which are then overwritten
        backbone, sha256 = _load(given)
    if name.sha256 and name.sha256 != sha256:
        raise ConfigError(
            f"The file {given.path} of backbone {name.name!r} has SHA-256 {sha256[:12]}, and the run wants "
            f"{name.sha256[:12]}: give --backbone {name.name}= the file that all sites have."
        )
    return FrozenNetwork(name if name.sha256 else _pinned(name, backbone, sha256, input_shape), backbone, feature_dim)


def pinned_name(setting: str, input_shape: tuple[int, ...]) -> str:
    """The setting with the width of the backbone and the hash of its file; one that is pinned is held to them.

    Raises
    ------
    ConfigError
        As `frozen_network`, or the backbone cannot take such inputs.
    """
    return str(frozen_network(setting, input_shape, 1).name)


def _pinned(name: FrozenName, backbone: nn.Module, sha256: str, input_shape: tuple[int, ...]) -> FrozenName:
    width = _run(backbone.eval(), torch.zeros(2, *input_shape)).shape[1]
    if width > WIDEST:
        raise ConfigError(f"The backbone {name.name!r} gives {width:,} features: let it pool them to {WIDEST:,}.")
    return FrozenName(name.name, width, sha256)


def _run(backbone: nn.Module, inputs: Tensor) -> Tensor:
    """Features [N, width] without gradients; ConfigError where the backbone does not take such inputs."""
    try:
        # Without optimisation TorchScript computes the same bits in its first calls as in later ones.
        with torch.no_grad(), torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            features = backbone(inputs)
    except Exception as error:
        raise ConfigError(
            f"The backbone cannot take inputs of shape {tuple(inputs.shape[1:])} ({one_line(error)}): set input-shape "
            "to what it was made for."
        ) from error
    if not isinstance(features, Tensor) or len(features) != len(inputs):
        raise ConfigError("The backbone returns no tensor with a row for each input: give one that returns features.")
    return features.flatten(1).float()


def _load(given: Backbone) -> tuple[nn.Module, str]:
    """The network of a file, and the file's SHA-256; both of the same bytes."""
    try:
        content = read_regular(given.path, LARGEST)
        backbone = scripted_network(content) if not given.architecture else _weighted(given, content)
    except ConfigError:
        raise
    except Exception as error:
        kind = f"weights of {given.architecture}" if given.architecture else "TorchScript"
        reason = error.reason if isinstance(error, UnreadableFileError) else one_line(error)
        raise ConfigError(
            f"The file {given.path} of backbone {given.name!r} holds no {kind} ({reason}): give another, or another "
            "architecture with --backbone NAME=ARCHITECTURE@FILE."
        ) from error
    return backbone, hashlib.sha256(content).hexdigest()


def _weighted(given: Backbone, content: bytes) -> nn.Module:
    """An architecture of torchvision without its last layer, with the weights of the file."""
    from torchvision import models

    if given.architecture not in models.list_models(module=models):
        raise ConfigError(
            f"The architecture {given.architecture!r} of backbone {given.name!r} is none of torchvision's: give one "
            "such as resnet18 or densenet121."
        )
    network = models.get_model(given.architecture, weights=None)
    heads = [name for name, module in network.named_modules() if isinstance(module, nn.Linear)]
    if not heads:
        raise ConfigError(f"The architecture {given.architecture!r} has no last linear layer: give another.")
    network.set_submodule(heads[-1], nn.Identity())
    tensors = state_of(content, given.path.suffix)
    network.load_state_dict({key: tensor for key, tensor in tensors.items() if not key.startswith(f"{heads[-1]}.")})
    return _ThreeChannels(network)


class _ThreeChannels(nn.Module):
    """Gives grey images to a network of colour images, the same values in each channel."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.network(inputs.expand(-1, 3, -1, -1) if inputs.shape[1] == 1 else inputs)
        return features


def _remedy(name: FrozenName) -> str:
    return f"start with --backbone {name.name}=FILE, or {name.name}=ARCHITECTURE@FILE."
