"""Which variant goes with which task, objective and classes, as its description in the registry says."""

from collections.abc import Callable

from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import TASKS, VARIANTS, VariantEntry, choices

__all__ = ["check_class_weights", "check_noise", "check_variant"]


def check_variant(
    name: str, task: str, objective: str, classes: str, personal_data: bool, prior_mean: str = "zero"
) -> None:
    """Raise ConfigError where settings do not go together; each is the value of the setting of its name."""
    variant = VARIANTS[name]
    if task not in variant.tasks:
        raise ConfigError(
            f"variant = {name!r} does not go with task = {task!r}: set variant = {_either(lambda v: task in v.tasks)}."
        )
    if prior_mean == "head" and not TASKS[task].classes:
        raise ConfigError(f"gp.prior-mean = 'head' does not go with task = {task!r}: set gp.prior-mean = 'zero'.")
    if prior_mean == "head" and variant.needs_inducing:
        raise ConfigError(
            f"gp.prior-mean = 'head' does not go with variant = {name!r}, whose inducing inputs are no samples: "
            f"set gp.prior-mean = 'zero', or variant = {_either(lambda v: not v.needs_inducing)}."
        )
    if objective == "softmax" and prior_mean != "head":
        raise ConfigError("objective = 'softmax' trains a shared head, and there is none: set gp.prior-mean = 'head'.")
    if not TASKS[task].classes and objective == "loo":
        raise ConfigError(
            f"objective = 'loo' does not go with task = {task!r}: set objective = 'predictive' or 'marginal'."
        )
    if variant.labelled_inducing and objective != "predictive":
        raise ConfigError(
            f"objective = {objective!r} does not go with variant = {name!r}, whose training data are inducing inputs: "
            f"set objective = 'predictive', or variant = {_either(lambda v: not v.labelled_inducing)}."
        )
    if not TASKS[task].classes and classes == "all":
        raise ConfigError(
            f"classes = 'all' does not go with task = {task!r}, which has no classes: set classes = 'own'."
        )
    if not variant.needs_inducing and classes == "all":
        raise ConfigError(
            "classes = 'all' needs inducing inputs for the classes that a client lacks: "
            f"set variant = {_either(lambda v: v.needs_inducing)}, or classes = 'own'."
        )
    if not variant.labelled_inducing and not personal_data:
        raise ConfigError(
            f"personal-data = false leaves variant = {name!r} without any data: "
            f"set variant = {_either(lambda v: v.labelled_inducing)}."
        )


def check_class_weights(weights: str, name: str, task: str, objective: str) -> None:
    """Raise ConfigError where ``class-weights`` does not go with the other settings."""
    if weights == "none":
        return
    if not TASKS[task].classes:
        raise ConfigError(f"class-weights = {weights!r} does not go with task = {task!r}, which has no classes.")
    if VARIANTS[name].labelled_inducing:
        raise ConfigError(
            f"class-weights = {weights!r} does not go with variant = {name!r}: set class-balancing = false there, or "
            f"variant = {_either(lambda v: not v.labelled_inducing)}."
        )
    if objective != "predictive":
        raise ConfigError(
            f"class-weights = {weights!r} weighs held-out points, which objective = {objective!r} has not: set "
            "objective = 'predictive'."
        )


def check_noise(dp_noise: float, prior_mean: str) -> None:
    """Raise ConfigError where noise would reach a shared head."""
    if dp_noise > 0 and prior_mean == "head":
        raise ConfigError(
            "gp.prior-mean = 'head' does not go with dp-noise: a head made of noise has odds that no sample "
            "outweighs; set gp.prior-mean = 'zero', as --preset zero-mean does, or dp-noise = 0."
        )


def _either(fitting: Callable[[VariantEntry], bool]) -> str:
    return " or ".join(map(repr, choices(VARIANTS, fitting)))
