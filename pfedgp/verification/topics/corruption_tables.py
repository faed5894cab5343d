"""The rule for tables of corruptions' parameters: the product's own, in the notation of the file that states them.

A table may state numbers, or a text that holds them, such as ``1:1.11:.01`` for the factors of a zoom.
"""

import math
import re
from typing import Any

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.data.corruptions.severities import TABLES

__all__ = ["CORRUPTION_TABLE_RULES"]

_NAMES = {"parameters imagecorruptions": "imagenet-c", "parameters cifar c": "cifar-10-c"}
_NUMBER = re.compile(r"\d*\.?\d+")
_SHIFT = 0.005  # of the side, by which the elastic transform's alpha is stated in ImageNet-C
_SIDE = 32.0  # pixels, as a factor before the first of CIFAR-10-C's tuples


def _parameters(q: Question) -> dict[str, Any]:
    if not isinstance(q.check.value, dict):
        raise NotUnderstood("the expected value is not a table of parameters by name")
    table = _NAMES[q.head]
    return {name: _as_stated(name, table, q.check.value.get(name)) for name in TABLES[table]}


def _as_stated(name: str, table: str, stated: Any) -> list[Any]:
    """The product's parameters of a corruption, each as text where the file has a text with just these numbers."""
    ours = [_listed(each) for each in TABLES[table][name]]
    if not isinstance(stated, list) or len(stated) != len(ours):
        return ours
    return [
        text if isinstance(text, str) and _holds(text, name, table, each) else each
        for text, each in zip(stated, ours, strict=True)
    ]


def _listed(parameters: Any) -> Any:
    return list(parameters) if isinstance(parameters, tuple) else parameters


def _holds(text: str, name: str, table: str, parameters: Any) -> bool:
    found = [float(number) for number in _NUMBER.findall(text)]
    meant = parameters if isinstance(parameters, list) else [parameters]
    if name == "zoom_blur":
        meant = [1.0, *meant]
    elif name == "elastic_transform" and table == "imagenet-c":
        meant = [meant[0] / _SHIFT]
    elif name == "elastic_transform" and found[:1] == [_SIDE]:
        found = found[1:]
    return len(found) == len(meant) and all(math.isclose(a, b) for a, b in zip(found, meant, strict=True))


CORRUPTION_TABLE_RULES = (Rule(rf"^({'|'.join(_NAMES)})$", _parameters),)
