"""What counts as a difference between the models of two commits, and as a commit."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, with its folder on the path as Python puts it there."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("compare_commits")


def models(folder: Path, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> tuple[Path, Path]:
    paths = (folder / "before.safetensors", folder / "after.safetensors")
    for path, tensors in zip(paths, (before, after), strict=True):
        save_file(tensors, path)
    return paths


def test_the_same_bits_are_no_difference(compare: Any, tmp_path: Path) -> None:
    vector = np.arange(5, dtype=np.float32)
    assert compare.difference(*models(tmp_path, {"shared": vector}, {"shared": vector.copy()})) == ""


def test_a_last_bit_is_a_difference(compare: Any, tmp_path: Path) -> None:
    vector = np.ones(5, dtype=np.float32)
    other = vector.copy()
    other[2] = np.nextafter(np.float32(1), np.float32(2))
    found = compare.difference(*models(tmp_path, {"shared": vector}, {"shared": other}))
    assert found == "shared: 1 bytes of 20, values by up to 1.2e-07"


def test_the_sign_of_a_zero_is_a_difference(compare: Any, tmp_path: Path) -> None:
    zero = np.zeros(1, dtype=np.float32)
    assert compare.difference(*models(tmp_path, {"shared": zero}, {"shared": -zero})) != ""


@pytest.mark.parametrize("other", [np.zeros(4, dtype=np.float32), np.zeros(5)])
def test_another_shape_or_type_is_a_difference(compare: Any, tmp_path: Path, other: np.ndarray) -> None:
    found = compare.difference(*models(tmp_path, {"shared": np.zeros(5, dtype=np.float32)}, {"shared": other}))
    assert found.startswith("shared: float32[5] became ")


def test_another_name_is_a_difference(compare: Any, tmp_path: Path) -> None:
    zero = np.zeros(1, dtype=np.float32)
    assert compare.difference(*models(tmp_path, {"a": zero}, {"b": zero})) == "names of tensors: a, b"


def test_a_commit_that_is_not_there_is_named(compare: Any, tmp_path: Path) -> None:
    with pytest.raises(compare.ToolError, match="'no-such-commit' is no commit"):
        compare.CommitTree.take("no-such-commit", tmp_path / "tree")
