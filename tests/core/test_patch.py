"""Patches: what an installed package lacks, which are named, and which refuse."""

from typing import ClassVar

import pytest

from pfedgp_core.errors import ConfigError
from pfedgp_core.patch import Patch, lacks, lost_patches, refuse_lost


class Optional(Patch):
    name: ClassVar = "quick"
    purpose: ClassVar = "it is quick"

    def __init__(self, missing: str = "") -> None:
        self._missing = missing

    def missing(self) -> str:
        return self._missing


class Needed(Optional):
    name: ClassVar = "whole"
    purpose: ClassVar = "it is whole"
    safety: ClassVar = True


@pytest.mark.parametrize(
    ("module", "path", "parameters", "said"),
    [
        ("json", "loads", {"object_hook"}, ""),
        ("json", "JSONDecoder.decode", set(), ""),
        ("json", "loads", {"colour", "size"}, "json.loads takes no colour, size"),
        ("json", "JSONDecoder.undo", set(), "json.JSONDecoder.undo is gone"),
        ("no_such_module", "loads", set(), "no_such_module.loads is gone"),
        ("json", "__name__", {"colour"}, "json.__name__ is no function any more"),
    ],
)
def test_what_a_package_lacks(module: str, path: str, parameters: set[str], said: str) -> None:
    assert lacks(module, path, parameters) == said


def test_lost_ones_are_named_with_purpose_and_reason() -> None:
    (sentence,) = lost_patches([Optional("a.b is gone"), Needed()])
    assert sentence == "The patch quick (it is quick) does not fit the installed version: a.b is gone."


def test_those_that_carry_safety_can_be_named_alone() -> None:
    assert len(lost_patches([Optional("gone"), Needed("gone")], safety=True)) == 1


def test_one_that_carries_safety_refuses() -> None:
    with pytest.raises(ConfigError, match=r"The patch whole .* gone\. Install flwr>=1\.39,<1\.40, or wait\.$"):
        refuse_lost([Optional(), Needed("gone")], ", or wait")


def test_one_that_carries_none_does_not_refuse() -> None:
    refuse_lost([Optional("gone"), Needed()])
