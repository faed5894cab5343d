"""Frozen backbones by name: what ``network = "frozen:NAME"`` says, and which files this machine's operator gave for it.

A name that a server or a model gives never leads to a file: that is said by ``--backbone`` of the command that runs
here, and handed to child processes in the environment variable `VARIABLE`.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut

__all__ = ["PREFIX", "VARIABLE", "Backbone", "FrozenName", "declare_backbones", "declared_backbones", "is_frozen"]

PREFIX = "frozen:"
VARIABLE = "PFEDGP_BACKBONES"
WIDEST = 65_536  # features
_FORM = re.compile(r"frozen:([A-Za-z0-9._-]{1,60})(?::([1-9][0-9]{0,4}):([0-9a-f]{64}))?")
_GIVEN = re.compile(r"([A-Za-z0-9._-]{1,60})=(?:([a-z0-9_]{1,60})@)?(.+)")


class Backbone(NamedTuple):
    """The weights of a frozen network, as the operator of this machine named them.

    Attributes
    ----------
    name : str
    path : Path
        A TorchScript file, or the weights of an architecture as safetensors or ``.pth``.
    architecture : str
        A name of torchvision; empty for TorchScript, which holds its own.
    """

    name: str
    path: Path
    architecture: str = ""


class FrozenName(NamedTuple):
    """What a setting says of a frozen backbone: its name and, once pinned, its width and the SHA-256 of its file.

    Attributes
    ----------
    name : str
    width : int
        Features that the backbone gives; 0 where the name is not pinned.
    sha256 : str
        Of the file, hex; empty where the name is not pinned.
    """

    name: str
    width: int = 0
    sha256: str = ""

    @classmethod
    def parse(cls, text: str) -> "FrozenName":
        """Read the value of the setting ``network``.

        Raises
        ------
        ConfigError
            It has another form.
        """
        found = _FORM.fullmatch(text)
        if found is None or int(found[2] or 0) > WIDEST:
            raise ConfigError(
                f"network = {cut(text, 120)!r} names no frozen backbone: give frozen:NAME of letters, digits, dots and "
                "dashes, and the file of its weights with --backbone NAME=FILE."
            )
        return cls(found[1], int(found[2] or 0), found[3] or "")

    def __str__(self) -> str:
        """The value of the setting."""
        return f"{PREFIX}{self.name}:{self.width}:{self.sha256}" if self.sha256 else f"{PREFIX}{self.name}"


def is_frozen(network: str) -> bool:
    """Whether the setting ``network`` means a frozen backbone, well-formed or not."""
    return network.startswith(PREFIX)


def declare_backbones(given: Iterable[str]) -> None:
    """Add what ``--backbone`` says to this process and its children; a name that is given again has the new file.

    Parameters
    ----------
    given : iterable of str
        ``NAME=FILE`` of a TorchScript file, or ``NAME=ARCHITECTURE@FILE``.

    Raises
    ------
    ConfigError
        A text of another form, or there is no such file.
    """
    known = declared_backbones()
    for text in given:
        backbone = _read(text)
        if not backbone.path.is_file():
            raise ConfigError(f"There is no file {backbone.path}: give --backbone {backbone.name}= the path of one.")
        known[backbone.name] = backbone
    if known:
        os.environ[VARIABLE] = "\n".join(map(_written, known.values()))


def declared_backbones() -> dict[str, Backbone]:
    """The backbones of this process, by name. Raises as `declare_backbones`, but for files that are not there."""
    lines = os.environ.get(VARIABLE, "").splitlines()
    return {backbone.name: backbone for backbone in map(_read, lines)}


def _read(text: str) -> Backbone:
    found = _GIVEN.fullmatch(text)
    if found is None:
        raise ConfigError(
            f"--backbone {cut(text, 120)!r} is no backbone: give NAME=FILE of TorchScript, or "
            "NAME=ARCHITECTURE@FILE with weights for an architecture of torchvision, such as xray=resnet18@xray.pth."
        )
    return Backbone(found[1], Path(found[3]).expanduser().absolute(), found[2] or "")


def _written(backbone: Backbone) -> str:
    architecture = f"{backbone.architecture}@" if backbone.architecture else ""
    return f"{backbone.name}={architecture}{backbone.path}"
