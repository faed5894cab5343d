"""The import graph: no circle between files or rooms, every arrow downwards, and Flower above the core only."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# A package may import what stands after it.
FLOORS = ("pfedgp", "client", "server", "pfedgp_core")
# `client` and `server` stand side by side.
BESIDE = {("client", "server"), ("server", "client")}
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for package in FLOORS
    for path in sorted((ROOT / package).rglob("*.py"))
}


def imported(path: Path) -> Iterator[str]:
    """Modules that a file names anywhere, inside functions and for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


ARROWS = {name: {target for target in imported(path) if target in FILES} - {name} for name, path in FILES.items()}


def room_of(module: str) -> str:
    return module.rpartition(".")[0] or module


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A circle of the graph; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_between_files() -> None:
    assert circle(ARROWS) == []


def test_no_circle_between_rooms() -> None:
    rooms: dict[str, set[str]] = {}
    for module, targets in ARROWS.items():
        rooms.setdefault(room_of(module), set()).update(room_of(target) for target in targets)
    # A room's own folder holds what its inner rooms share; an arrow between the two is no circle of its own.
    assert circle({room: targets - {room} for room, targets in rooms.items()}) == []


@pytest.mark.parametrize("package", FLOORS)
def test_arrows_point_down(package: str) -> None:
    above = [(package, other) for other in FLOORS[: FLOORS.index(package)]]
    refused = {other for _, other in [*above, *(pair for pair in BESIDE if pair[0] == package)]}
    found = {
        f"{module} -> {target}"
        for module, path in FILES.items()
        if module.split(".")[0] == package
        for target in imported(path)
        if target.split(".")[0] in refused
    }
    assert found == set()


@pytest.mark.slow
def test_the_core_knows_nothing_of_flower() -> None:
    assert {
        m for m, p in FILES.items() if m.startswith("pfedgp_core") and any("flwr" in t for t in imported(p))
    } == set()


def test_a_circle_is_found() -> None:
    """The other tests would also pass if nothing were recognised."""
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []
    assert {target.split(".")[0] for targets in ARROWS.values() for target in targets} == set(FLOORS)


def test_commands_import_no_other_command() -> None:
    found = {
        f"{module} -> {target}"
        for module, targets in ARROWS.items()
        for target in targets
        if room_of(module) == room_of(target) == "pfedgp.commands"
    }
    assert found == set()
