"""Rules for the topics corruption_values and corruption_spec: images through the product's own corruptions.

Corruptions take bytes and compute in float64, whatever precision the product trains in.
"""

import re

import numpy as np

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.data.corruptions.corrupt import RANDOM, corrupted_values, unclipped
from pfedgp_core.data.corruptions.noise_models import noise_models
from pfedgp_core.data.corruptions.severities import CORRUPTIONS, TABLES
from pfedgp_core.numerics.streams import Stream

__all__ = ["CORRUPTION_SPEC_RULES", "CORRUPTION_VALUES_RULES"]

_SIDE = 400  # pixels of the grey image on which moments are measured
_MOMENT = re.compile(r"(\w+?)_(std|mean)(?:_at_half_grey)?")


def _values(q: Question) -> np.ndarray:
    """The case's image through the corruption that the assert names, before rounding."""
    name = q.head.replace(" ", "_")
    if name not in CORRUPTIONS or name in RANDOM:
        raise NotUnderstood(f"{name!r} is no corruption whose values can be stated")
    try:
        image = np.array(q.inputs["image"], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise NotUnderstood("input 'image' is not an array of bytes") from None
    if image.ndim != 3 or image.size == 0 or image.min() < 0 or image.max() > 255:
        raise NotUnderstood("input 'image' is not bytes as [row, column, channel]")
    return corrupted_values(image.astype(np.uint8), name, _severity(q), Stream(q.workspace.seed).numpy, _table(q))


def _moments(q: Question) -> dict[str, float]:
    """Mean or deviation of what noise makes of a half grey image, before it is clipped."""
    if not isinstance(q.check.value, dict):
        raise NotUnderstood("the expected value is not a table of moments by name")
    grey = np.full((_SIDE, _SIDE, 3), 0.5)
    found = {}
    for key in q.check.value:
        parts = _MOMENT.fullmatch(key)
        if not parts or parts[1] not in RANDOM:
            raise NotUnderstood(f"{key!r} is no moment of a random corruption")
        rng = Stream(q.workspace.seed, q.case.id, key).numpy
        made = unclipped(grey, parts[1], _severity(q), rng, _table(q))
        found[key] = float(made.std() if parts[2] == "std" else made.mean())
    return found


def _models(q: Question) -> int:
    """How many noise models the named corruptions and severities make."""
    try:
        models = noise_models(tuple(int(severity) for severity in q.inputs["severities_of_the_paper"]))
        order = set(q.inputs["order"]) if "order" in q.inputs else set(CORRUPTIONS)
    except (TypeError, ValueError):
        raise NotUnderstood("the inputs do not list severities and names of corruptions") from None
    return sum(model.corruption in order for model in models)


def _severity(q: Question) -> int:
    severity = q.inputs.number("severity")
    if not severity.is_integer():
        raise NotUnderstood(f"input 'severity' is {severity:g}, not a whole number")
    return int(severity)


def _table(q: Question) -> str:
    """Whose parameters: those of ImageNet-C, as the paper's, unless the inputs name others."""
    named = str(q.inputs.values.get("parameters", "imagenet-c")).lower().replace("_", "-")
    table = {"imagecorruptions": "imagenet-c", "cifar-c": "cifar-10-c"}.get(named, named)
    if table not in TABLES:
        raise NotUnderstood(f"input 'parameters' is {named!r}, which is no known table")
    return table


CORRUPTION_VALUES_RULES = (Rule(r"^unclipped noise moments$", _moments), Rule(r"", _values))
CORRUPTION_SPEC_RULES = (Rule(r"^number of noise models$", _models),)
