"""scripts/write_settings.py, which `make settings` runs: pyproject.toml holds the defaults, and other text stays."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

from pfedgp_core.config import Settings

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
spec = importlib.util.spec_from_file_location("write_settings", ROOT / "scripts/write_settings.py")
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def config(text: str) -> dict[str, object]:
    table: dict[str, object] = tomllib.loads(text)["tool"]["flwr"]["app"]["config"]
    return table


def test_nothing_changes_where_nothing_changed() -> None:
    assert module.with_settings(PYPROJECT, Settings()) == PYPROJECT


def test_a_changed_default_is_written() -> None:
    assert config(module.with_settings(PYPROJECT, Settings(rounds=61)))["rounds"] == 61


def test_a_missing_setting_is_added() -> None:
    without = "".join(line for line in PYPROJECT.splitlines(keepends=True) if not line.startswith("partition = "))
    assert module.with_settings(without, Settings()) == PYPROJECT


def test_keys_that_are_no_settings_stay() -> None:
    changed = PYPROJECT.replace('out = ""', 'out = "runs"', 1)
    assert config(module.with_settings(changed, Settings()))["out"] == "runs"


def test_a_file_without_the_table_is_named() -> None:
    with pytest.raises(SystemExit, match=r"has no table \[tool.flwr.app.config\]"):
        module.with_settings("[project]\n", Settings())
