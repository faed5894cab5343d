"""What can be chosen by name, and where it lies: a new kernel, method or data set is one file and one line here.

Imports neither torch nor what it names, so that settings, help texts and the command line know every choice at once.
"""

import importlib
from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from typing import Any

from pfedgp_core.errors import ConfigError
from pfedgp_core.setting import setting

__all__ = ["KERNELS", "METHODS", "Entry", "MethodEntry", "choices", "entry", "is_import_path"]


@dataclass(frozen=True)
class Entry:
    """One choice.

    Attributes
    ----------
    target : str
        ``package.module:name`` of the class or function.
    about : str
        What it is, in a few words, for help texts.
    """

    target: str
    about: str

    def load(self) -> Any:
        """Import what the entry names."""
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class MethodEntry(Entry):
    """A federated method: see `pfedgp_core.methods.base.Method`.

    Attributes
    ----------
    tasks : tuple of str
        What it can learn.
    settings : dict of str to Field
        Its own settings; their keys are ``METHOD.KEY``.
    """

    tasks: tuple[str, ...] = ("classification",)
    settings: dict[str, Field] = field(default_factory=dict)


METHODS: dict[str, MethodEntry] = {
    "pfedgp": MethodEntry(
        "pfedgp_core.methods.pfedgp:PFedGP",
        "shared kernel network, personal Gaussian processes",
        tasks=("classification", "regression"),
    ),
    "fedavg": MethodEntry("pfedgp_core.methods.fedavg:FedAvg", "one network with a softmax head for all"),
    "fedper": MethodEntry(
        "pfedgp_core.methods.fedper:FedPer",
        "shared base, personal last layers",
        settings={
            "personal-layers": setting(
                1,
                "last layers of the network that stay with the client; the softmax head is the last",
                low=0,
                high=1000,
            )
        },
    ),
    "local": MethodEntry(
        "pfedgp_core.methods.local:Local",
        "the whole of pFedGP by each client alone",
        settings={"epochs": setting(100, "passes over the client's data, once", low=1, high=1_000_000)},
    ),
    "local-network": MethodEntry(
        "pfedgp_core.methods.local_network:LocalNetwork", "a network with a softmax head by each client alone"
    ),
}

# Kernel classes: see `pfedgp_core.kernels.base.Kernel`.
KERNELS: dict[str, Entry] = {
    "rbf": Entry("pfedgp_core.kernels.rbf:RBF", "squared exponential, the paper's"),
    "matern12": Entry("pfedgp_core.kernels.matern:Matern12", "Matern of smoothness 1/2, rough"),
    "matern32": Entry("pfedgp_core.kernels.matern:Matern32", "Matern of smoothness 3/2"),
    "matern52": Entry("pfedgp_core.kernels.matern:Matern52", "Matern of smoothness 5/2"),
    "linear": Entry("pfedgp_core.kernels.linear:Linear", "inner product of the features"),
}


def choices(entries: Mapping[str, Entry]) -> tuple[str, ...]:
    """Names in the order of the registry, as a setting's choices."""
    return tuple(entries)


def entry(entries: Mapping[str, Entry], key: str, name: str) -> Entry:
    """Return the entry of a name.

    Raises
    ------
    ConfigError
        The name is not known; `key` is the setting that holds it.
    """
    if name not in entries:
        raise ConfigError(f"{key} = {name!r} is not known; choose one of: {', '.join(entries)}.")
    return entries[name]


def is_import_path(name: str) -> bool:
    """Whether a choice is a user's own, ``package.module:name``, and not a name of the registry."""
    module, separator, attribute = name.partition(":")
    return bool(separator) and all(part.isidentifier() for part in (*module.split("."), *attribute.split(".")))
