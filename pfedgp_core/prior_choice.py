"""Whether the clients of a run share a softmax head as prior mean, where its user does not say: preset ``auto``.

Decided by the settings alone, before anything begins: a head is taken where the run is long enough to train it and
where no setting that the user gives is about Gaussian processes that are trained without one. On a server of sites
nobody gets one unasked, because one site of five can spoil it for the others (docs/attacks.md).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pfedgp_core.backbones import PREFIX
from pfedgp_core.config import Settings
from pfedgp_core.registry import TASKS, VARIANTS
from pfedgp_core.setting import Value

__all__ = ["SHARED_HEAD", "PriorChoice", "prior_choice", "zero_mean"]

VISITS_OF_A_HEAD = 300  # clients that train, over all rounds, from which a head is ahead (docs/calibration.md)
SHARED_HEAD: dict[str, Value] = {"gp.prior-mean": "head", "objective": "softmax", "gp.output-scale": 4.0}

# Settings of training by Gaussian processes, which the training of a head does not read, beside the group gp.*
_OF_TRAINING = ("loss-scale", "loss-normalisation", "momentum")
_OF_PREDICTION = ("gp.predict-chains", "gp.predict-sweeps")
_WITH = "with a shared head: --preset shared-head"
_WITHOUT = "without one, which is the default of pfedgp run: --preset zero-mean"
_GUARDED = f"{_WITH} --set aggregation=nearest --set trim-share=0.2"


class PriorChoice(NamedTuple):
    """What was decided.

    Attributes
    ----------
    head : bool
    note : str
        A line that says so, why, and how to get the other; empty where the user has said it, or where there is none.
    """

    head: bool
    note: str = ""


def zero_mean() -> dict[str, Value]:
    """The settings of `SHARED_HEAD` at their defaults."""
    defaults = Settings().to_run_config()
    return {key: defaults[key] for key in SHARED_HEAD}


def prior_choice(chosen: Mapping[str, Any], deployed: bool = False) -> PriorChoice:
    """Decide.

    Parameters
    ----------
    chosen : mapping
        Flat keys of what the user gives or the data set says. Values that are not allowed are left for the check of
        the settings.
    deployed : bool
        The run is one of a server's sites, and no simulation.
    """
    given: dict[str, Any] = {**Settings().to_run_config(), **chosen}
    task, variant = str(given["task"]), str(given["variant"])
    trees = variant in VARIANTS and task in TASKS and TASKS[task].classes and given["method"] == "pfedgp"
    if "gp.prior-mean" in chosen or not trees:
        return PriorChoice(False)
    against = {
        f"variant = {variant!r}": VARIANTS[variant].needs_inducing,
        "dp-noise": given["dp-noise"] != 0,
        f"class-weights = {given['class-weights']!r}": given["class-weights"] != "none",
    }
    advice = _GUARDED if deployed else _WITH
    if reasons := [reason for reason, holds in against.items() if holds]:
        return PriorChoice(False, f"Prior mean: zero, as a shared head does not go with {reasons[0]}.")
    if keys := [key for key in chosen if _of_gaussian_training(key, given)]:
        return PriorChoice(False, f"Prior mean: zero, as {keys[0]} = {chosen[keys[0]]} is given; {advice}.")
    if str(given["network"]).startswith(PREFIX):
        return PriorChoice(False, f"Prior mean: zero, as no shared head was tried on frozen networks; {advice}.")
    rounds, drawn, *others = (
        given[key] for key in ("rounds", "clients-per-round", "clients", "unseen-clients", "novel-clients")
    )
    if not all(type(count) is int for count in (rounds, drawn, *others)):
        return PriorChoice(False)
    if deployed:
        return PriorChoice(False, f"Prior mean: zero, as one site could spoil a shared head for all; {advice}.")
    training = min(drawn, others[0] - sum(others[1:]))
    visits = f"{rounds * training} visits of clients ({rounds} rounds x {training})"
    if rounds * training < VISITS_OF_A_HEAD:
        return PriorChoice(
            False, f"Prior mean: zero, as the run has {visits}, fewer than {VISITS_OF_A_HEAD}; {advice}."
        )
    note = f"Prior mean: a softmax head that the clients share, as the run has {visits}; {_WITHOUT}."
    return PriorChoice(True, note)


def _of_gaussian_training(key: str, given: Mapping[str, Any]) -> bool:
    """Whether a setting is of training by Gaussian processes, which a user who gives it wants."""
    if key == "local-epochs":
        return bool(given["local-steps"])  # passes of a head's training where it is not so many mini-batches
    of_group = key.startswith("gp.") and key not in _OF_PREDICTION
    return key == "objective" or key in _OF_TRAINING or of_group
