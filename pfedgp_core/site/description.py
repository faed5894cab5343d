"""Checks of what a saved site's two files say, field by field: a hash protects from accidents and not from intent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pfedgp_core.checks import count, finite, text
from pfedgp_core.data.value_range import RANGES
from pfedgp_core.files.regular import MalformedError

__all__ = ["check_parts"]


def check_parts(about: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    """Check the description and the tensors of a site.

    Raises
    ------
    TypeError, ValueError, KeyError
        A field is missing or something else; the text says what.
    """
    text(about["name"])
    for key in ("label_column", "group_column"):
        text(about.get(key, ""))
    names = _texts(about["class_names"], "class_names")
    for key in ("columns", "model_columns", "participants"):
        _texts(about.get(key, []), key)
    if text(about.get("value_range", "")) not in ("", *RANGES):
        raise MalformedError("its range of values is unknown")
    for value in about.get("table", {}).values():
        text(value)
    for size in about["input_shape"]:
        count(size)
    if not isinstance(about["settings"], dict):
        raise MalformedError("settings is no object")
    classes = [count(c) for c in about["classes"]]
    if not classes or classes != sorted(set(classes)) or classes[-1] >= len(names):
        raise MalformedError("its classes are none of the federation's")
    _check_tree(about["tree"], len(classes))
    for key in ("output_scale", "length_scale"):
        finite(about["kernel"][key])
    _check_samples(tensors, len(names))
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise MalformedError(f"{name[:40]} holds NaN or infinity")


def _check_tree(tree: Any, k: int) -> None:
    for left, right in tree:
        below = [count(c) for c in (*left, *right)]
        if not left or not right or len(set(below)) < len(below) or max(below) >= k:
            raise MalformedError("its tree does not fit its classes")


def _check_samples(tensors: Mapping[str, np.ndarray], k: int) -> None:
    """[N, d] float32, [N] int64 class ids, [N, 32] uint8."""
    for name, dtype, axes in (("features", np.float32, 2), ("labels", np.int64, 1), ("digests", np.uint8, 2)):
        if tensors[name].dtype != dtype or tensors[name].ndim != axes:
            raise MalformedError(f"{name} is {tensors[name].dtype} {list(tensors[name].shape)}")
    labels = tensors["labels"]
    if not len(labels) == len(tensors["features"]) == len(tensors["digests"]) or tensors["digests"].shape[1] != 32:
        raise MalformedError("features, labels and digests are not of the same samples")
    if len(labels) and not 0 <= labels.min() <= labels.max() < k:
        raise MalformedError("a label is no class of the federation")
    for name in ("shared", "mean", "std"):
        if tensors[name].dtype != np.float32 or tensors[name].ndim != 1:
            raise MalformedError(f"{name} is {tensors[name].dtype} {list(tensors[name].shape)}")


def _texts(values: Any, name: str) -> Sequence[str]:
    if not isinstance(values, list):
        raise MalformedError(f"{name} is no list")
    return [text(value) for value in values]
