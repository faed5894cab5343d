"""docs/modules.md lists every module with the first line of its docstring; no file is long."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("make_modules", ROOT / "docs/make_modules.py")
assert _spec
assert _spec.loader
make_modules = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_modules)

MODULES = [path for package in make_modules.PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.slow
def test_the_index_is_up_to_date() -> None:
    assert (ROOT / "docs/modules.md").read_text(encoding="utf-8") == make_modules.index(), "run docs/make_modules.py"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_about(path: Path) -> None:
    # Flower's command line executes these two, so they stay empty.
    empty = path.parent.parent == ROOT and path.parent.name in ("client", "server") and path.name == "__init__.py"
    assert empty != bool(make_modules.first_line(path))


def test_no_file_is_longer_than_300_lines() -> None:
    folders = (*make_modules.PACKAGES, "docs", "experiments", "scripts", "tests")
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for f in folders for path in (ROOT / f).rglob("*.py")
    }
    assert len(lengths) > 300
    assert {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > 300} == {}
