"""Named sets of settings below what a user gives.

``paper``: those of Achituve et al. (2021). ``shared-head``: a softmax head of all clients is the prior mean of their
trees (`pfedgp_core.tree.variants.prior_mean`), and the states of a long run are averaged (`pfedgp_core.averaging`).
``zero-mean``: their prior mean is zero, as the defaults of the settings have it. ``auto``, where a user names none: one
of these two (`pfedgp_core.prior_choice`).

Defaults may move away from the paper; its preset stays. What the paper leaves open is as its authors' scripts have it,
and where these are silent, as it is here by default at the time of writing.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pfedgp_core.averaging import averaging, averaging_note
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.prior_choice import SHARED_HEAD, prior_choice, zero_mean
from pfedgp_core.registry import METHODS, is_gaussian
from pfedgp_core.setting import Value, choices_text
from pfedgp_core.words import cut

__all__ = ["AUTO", "PRESETS", "ZERO_MEAN", "Preset", "preset_of", "preset_settings"]

Flat = dict[str, Value]

AUTO, ZERO_MEAN = "auto", "zero-mean"

_PAPER: Flat = {
    "rounds": 1000,
    "clients-per-round": 5,
    "aggregation": "uniform",
    "clip-updates": 0.0,
    "update-encoding": "float32",
    "evaluate-clients": 0,
    "best-classes": "all",
    "partition": "k-class",
    "dp-noise": 0.0,
    "variant": "full",
    "objective": "predictive",
    "loss-normalisation": "node-mean",
    "loss-scale": 1.0,
    "classes": "own",
    "feature-dim": 84,
    "inducing-per-class": 100,
    "inducing-per-node": 0,
    "personal-data": True,
    "class-balancing": True,
    "local-epochs": 1,
    "local-steps": 20,
    "batch-size": 20,
    "average-states": 0.0,
    "learning-rate": 0.05,
    "momentum": 0.9,
    "weight-decay": 1e-3,
    "clip-norm": 50.0,
    "gp.kernel": "rbf",
    "gp.output-scale": 8.0,
    "gp.length-scale": 1.0,
    "gp.learn-scales": False,
    "gp.choose-scale": False,
    "gp.prior-mean": "zero",
    "gp.jitter": 1e-3,
    "gp.train-chains": 20,
    "gp.predict-chains": 30,
    "gp.sweeps": 5,
    "gp.predict-sweeps": 0,
    "gp.holdout": 0.5,
    "gp.link": "arith",
}
_CLASSES = {"cifar10": 2, "cifar100": 10, "cinic10": 4}  # of a client
# By variant and data set, from the authors' scripts for the standard setting; CINIC-10 has none and is as CIFAR-10.
_VARIANTS: dict[tuple[str, str], Flat] = {
    ("full", "cifar10"): {"local-epochs": 3},
    ("ip-data", "cifar10"): {"loss-scale": 2.0},
    ("ip-data", "cifar100"): {"learning-rate": 0.01},
    ("ip-compute", "cifar100"): {"local-epochs": 3, "learning-rate": 0.01},
}
# Of methods with a softmax head, as in the code of pFedMe, whose protocol the paper follows: plain SGD. Momentum 0.9
# makes the steps of twenty mini-batches ten times as long, and the network a constant in the first visits.
_PLAIN: Flat = {"momentum": 0.0}
# What the paper or official code says of a method, beside the 20 mini-batches of 20 that all others take in a visit.
_METHODS: dict[str, Flat] = {
    "local": {"rounds": 1, "evaluate-every": 1, "local.epochs": 100},
    "lg-fedavg": {"rounds": 1200, "lg-fedavg.fedavg-rounds": 1000},
    "fedu": {"local-steps": 0, "local-epochs": 5},
    "pfedhn": {
        "rounds": 5000,
        "clients-per-round": 1,
        "local-steps": 50,
        "batch-size": 64,
        "learning-rate": 0.005,
        "momentum": 0.9,
        "weight-decay": 5e-5,
    },
}


def _paper(chosen: Mapping[str, Any]) -> Flat:
    given: dict[str, Any] = {"method": "pfedgp", "dataset": "", **_PAPER, **chosen}
    dataset, method = str(given["dataset"]), str(given["method"])
    plain = {} if method not in METHODS or is_gaussian(method) else _PLAIN
    found = _PAPER | {"classes-per-client": _CLASSES.get(dataset, 2)} | plain | _METHODS.get(method, {})
    standard = given["partition"] == "k-class" and given.get("noise", "none") == "none"
    if standard and method == "pfedgp":
        script = "cifar10" if dataset == "cinic10" else dataset
        found |= _VARIANTS.get((str(given["variant"]), script), {})
    if method == "local" and "clients-per-round" not in chosen and isinstance(given.get("clients"), int):
        found["clients-per-round"] = given["clients"] - given.get("unseen-clients", 0) - given.get("novel-clients", 0)
    return found


def _shared_head(chosen: Mapping[str, Any]) -> Flat:
    method = str(chosen.get("method", Settings.method))
    if method in METHODS and not METHODS[method].gaussian:
        raise ConfigError(
            f"preset = 'shared-head' is for methods with Gaussian processes, and method = {cut(repr(method), 60)} has "
            "none: leave out one of the two."
        )
    return SHARED_HEAD | averaging(chosen)


class Preset(NamedTuple):
    """What a preset says of some settings.

    Attributes
    ----------
    settings : dict
        By flat key.
    note : str
        What is to be said of a choice that was made for the user; empty where there was none.
    """

    settings: Flat
    note: str = ""


def _auto(chosen: Mapping[str, Any], deployed: bool) -> Preset:
    choice = prior_choice(chosen, deployed)
    if not choice.head:
        return Preset(zero_mean(), choice.note)
    return Preset(_shared_head(chosen), " ".join(filter(None, (choice.note, averaging_note(chosen)))))


PRESETS: dict[str, Callable[[Mapping[str, Any], bool], Preset]] = {
    "paper": lambda chosen, _: Preset(_paper(chosen)),
    "shared-head": lambda chosen, _: Preset(_shared_head(chosen)),
    ZERO_MEAN: lambda *_: Preset(zero_mean()),
    AUTO: _auto,
}


def preset_of(name: str, chosen: Mapping[str, Any], deployed: bool = False) -> Preset:
    """The preset of a name; without settings for an empty one.

    Parameters
    ----------
    name : str
    chosen : mapping
        Flat keys that the user gives, which come before these. Method, variant, data set, partition and noise among
        them decide what the preset says.
    deployed : bool
        The run is one of a server's sites, and no simulation.

    Raises
    ------
    ConfigError
        There is no such preset.
    """
    if not name:
        return Preset({})
    if name not in PRESETS:
        raise ConfigError(f"preset = {name!r} is not known; {choices_text(name, PRESETS)}")
    return PRESETS[name](chosen, deployed)


def preset_settings(name: str, chosen: Mapping[str, Any]) -> Flat:
    """The settings of a preset in a simulation; arguments and errors as of `preset_of`."""
    return preset_of(name, chosen).settings
