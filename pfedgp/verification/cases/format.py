"""The golden format: reading a file of reference cases, and typed access to a case's inputs.

A file is ``{"version": 1, "cases": [{id, topic, inputs, asserts: [{name, value, kind, atol, ...}], ...}]}``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files.json_file import read_object

__all__ = ["KINDS", "Assert", "Case", "Inputs", "NotUnderstood", "load"]

LARGEST = 1024**3  # bytes of a file
KINDS = ("exact", "mc", "info", "spec")


class NotUnderstood(Exception):
    """A case or assert that no rule of this package covers; reported as a failed assert with this text."""


class Inputs:
    """The inputs of a case, by name; a missing one is reported by its name."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise NotUnderstood(f"the case has no input {name!r}")
        return self.values[name]

    def number(self, name: str, default: float | None = None) -> float:
        """A number, or the default where the input is absent."""
        if default is not None and name not in self:
            return default
        value = self[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise NotUnderstood(f"input {name!r} is {value!r}, not a number")
        return float(value)

    def tensor(self, name: str, dtype: torch.dtype, ndim: int) -> Tensor:
        """A numeric array with this many dimensions."""
        try:
            tensor = torch.tensor(self[name], dtype=dtype)
        except (TypeError, ValueError, OverflowError, RuntimeError):
            raise NotUnderstood(f"input {name!r} is not an array of numbers") from None
        if tensor.ndim != ndim:
            raise NotUnderstood(f"input {name!r} has {tensor.ndim} dimensions instead of {ndim}")
        return tensor


@dataclass(frozen=True)
class Assert:
    """One expected value.

    Attributes
    ----------
    name : str
        Says in words which quantity is meant.
    value : number, bool, text, None, or nested lists and dicts of these
    kind : {"exact", "mc", "info", "spec"}
        ``info`` is a value that is not to be matched, ``spec`` a table of settings, compared where the product
        has it and shown where it has not.
    options : dict
        Tolerance (``atol``, ``atol_float32``, ``rtol``, ``rule``, ``var``), effort (``chains``, ``steps``, ``n_min``)
        and ``test_index``.
    """

    name: str
    value: Any
    kind: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A set of inputs with the values expected from them; the notes may state numbers that the inputs lack."""

    id: str
    topic: str
    inputs: Inputs
    asserts: tuple[Assert, ...]
    notes: str = ""


def load(path: str) -> tuple[Case, ...]:
    """Read and check a file of cases.

    Raises
    ------
    ConfigError
        The file cannot be read, is not JSON, or a case or assert lacks a field.
    """
    try:
        content = read_object(Path(path), LARGEST)
    except UnreadableFileError as error:
        raise ConfigError(f"{path} cannot be read ({error.reason}); give a JSON file of reference cases.") from None
    if not isinstance(content.get("cases"), list):
        raise ConfigError(f"{path} has no list 'cases'; give a file with the fields version and cases.")
    if content.get("version", 1) != 1:
        raise ConfigError(f"{path} has version {content['version']!r}; this program reads version 1.")
    cases = tuple(_case(path, i, raw) for i, raw in enumerate(content["cases"]))
    ids = [case.id for case in cases]
    if len(set(ids)) < len(ids):
        twin = next(i for i in ids if ids.count(i) > 1)
        raise ConfigError(f"{path} has two cases with the id {twin!r}; give each case its own id.")
    return cases


def _case(path: str, index: int, raw: Any) -> Case:
    named = isinstance(raw, dict) and isinstance(raw.get("id"), str)
    label = f"case {raw['id']!r}" if named else f"case number {index}"
    fields = _required(path, label, raw, {"id": str, "topic": str, "inputs": dict, "asserts": list})
    asserts = []
    for j, item in enumerate(fields["asserts"]):
        found = _required(path, f"assert number {j} of {label}", item, {"name": str, "kind": str, "value": object})
        options = {key: value for key, value in item.items() if key not in found}
        asserts.append(Assert(found["name"], found["value"], found["kind"], options))
    notes = raw.get("notes")
    text = notes if isinstance(notes, str) else ""
    return Case(fields["id"], fields["topic"], Inputs(fields["inputs"]), tuple(asserts), text)


def _required(path: str, label: str, raw: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: {label} is not an object; give an object with the fields {', '.join(kinds)}.")
    for name, kind in kinds.items():
        if name not in raw:
            raise ConfigError(f"{path}: {label} has no field {name!r}; add it.")
        if not isinstance(raw[name], kind):
            wanted = {"str": "a text", "dict": "an object", "list": "a list"}[kind.__name__]
            raise ConfigError(f"{path}: field {name!r} of {label} is not {wanted}; correct it.")
    return {name: raw[name] for name in kinds}
