"""Rules for partitions: fractions, counts, and the properties of the product's own partitions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.data.partitions.k_class import fraction_bounds, fractions, k_class_partition, largest_remainder_counts

__all__ = ["PARTITION_RULES"]


def _shares(q: Question) -> dict[str, tuple[tuple[float, ...], int]]:
    """For each class of the inputs its fractions and its number of samples."""
    try:
        tables = {name: table for name, table in q.inputs.values.items() if isinstance(table, dict)}
        return {name: (fractions(table["alpha"]), int(table["n"])) for name, table in tables.items()}
    except (KeyError, TypeError, ValueError):
        raise NotUnderstood("an input is not an object with alpha and n") from None


def _bounds(q: Question) -> dict[str, tuple[float, float]]:
    if not isinstance(q.check.value, dict) or not all(key.isdigit() for key in q.check.value):
        raise NotUnderstood("the expected value is not a table by clients per class")
    return {key: fraction_bounds(int(key)) for key in q.check.value}


def _properties(q: Question) -> list[str]:
    """The listed properties that hold on the product's partition of every setting."""
    listed = q.check.value if isinstance(q.check.value, list) else [q.check.value]
    holds = dict.fromkeys(listed, True)
    for setting in q.inputs["settings"]:
        for text, held in _check_setting(listed, setting, q.workspace.seed).items():
            holds[text] = holds[text] and held
    return [text if holds[text] else f"violated: {text}" for text in listed]


def _check_setting(listed: list[str], setting: dict[str, Any], seed: int) -> dict[str, bool]:
    try:
        clients, k, classes = int(setting["clients"]), int(setting["k"]), int(setting["classes"])
        total = round(clients * float(setting["mean_train"]))
    except (KeyError, TypeError, ValueError):
        raise NotUnderstood("a setting lacks clients, k, classes or mean_train") from None
    sizes = {"train": total, "validation": total // 4 + 7, "test": total // 4}
    labels = {split: np.arange(n) % classes for split, n in sizes.items()}
    partition = k_class_partition(labels, classes, clients, k, seed)
    holders = [sum(c in own for own in partition.classes) for c in range(classes)]
    flat = {split: np.concatenate(rows) for split, rows in partition.indices.items()}

    def shares_fit(split: str) -> bool:
        """Whether every count in the split is within one of the fraction recorded for the client and class."""
        for own, shares, rows in zip(partition.classes, partition.fractions, partition.indices[split], strict=True):
            counts = np.bincount(labels[split][rows], minlength=classes)
            if set(np.flatnonzero(counts)) - set(own):
                return False
            sizes_of_classes = np.bincount(labels[split], minlength=classes)
            if any(abs(counts[c] - share * sizes_of_classes[c]) > 1 for c, share in zip(own, shares, strict=True)):
                return False
        return True

    checks: dict[str, Callable[[], bool]] = {
        "distinct classes": lambda: all(len(set(own)) == k for own in partition.classes),
        "each class held by": lambda: (
            set(holders) == {clients * k // classes} and setting.get("clients_per_class", holders[0]) == holders[0]
        ),
        "disjoint": lambda: all(len(np.unique(rows)) == len(rows) for rows in flat.values()),
        "union": lambda: all(np.array_equal(np.sort(flat[split]), np.arange(n)) for split, n in sizes.items()),
        "same classes and fractions": lambda: all(shares_fit(split) for split in sizes),
    }
    results = {}
    for text in listed:
        found = [check for phrase, check in checks.items() if phrase in str(text).lower()]
        if len(found) != 1:
            raise NotUnderstood(f"the property {text!r} is not known")
        results[text] = bool(found[0]())
    return results


PARTITION_RULES = (
    Rule(r"bounds", _bounds),
    Rule(r"largest.remainder", lambda q: {k: largest_remainder_counts(s, n) for k, (s, n) in _shares(q).items()}),
    Rule(r"^fractions?\b", lambda q: {name: shares for name, (shares, _) in _shares(q).items()}),
    Rule(r"propert", _properties),
)
