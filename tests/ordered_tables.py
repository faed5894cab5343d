"""Tables of the same samples with their columns in several orders, under other names and in other units."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

__all__ = ["NAMES", "ordered_table", "patients"]

NAMES = ("age", "crp", "bmi")


def patients(n: int, seed: int) -> tuple[np.ndarray, list[str]]:
    """Values [n, 3] of `NAMES`, and classes that they decide."""
    draw = np.random.default_rng(seed)
    classes = np.arange(n) % 2
    means, spread = np.array([[55.0, 0.3, 24.0], [68.0, 0.9, 27.0]]), np.array([6.0, 0.4, 3.0])
    return means[classes] + spread * draw.normal(size=(n, 3)), [("well", "ill")[c] for c in classes]


def ordered_table(
    path: Path,
    seed: int,
    order: Sequence[str] = NAMES,
    n: int = 40,
    names: Mapping[str, str] | None = None,
    scale: Mapping[str, float] | None = None,
    labels: bool = True,
) -> Path:
    """Write the patients of a seed.

    Parameters
    ----------
    path : Path
    seed : int
    order : sequence of str
        Of the columns.
    n : int
    names : mapping of str to str, optional
        Other names of columns.
    scale : mapping of str to float, optional
        Factors of columns.
    labels : bool
        Whether the classes are in it.
    """
    values, classes = patients(n, seed)
    columns = {name: values[:, i] * (scale or {}).get(name, 1.0) for i, name in enumerate(NAMES)}
    head = [(names or {}).get(name, name) for name in order] + ["label"] * labels
    rows = [[f"{columns[name][i]:.4f}" for name in order] + [classes[i]] * labels for i in range(n)]
    path.write_text("\n".join(map(",".join, [head, *rows])) + "\n")
    return path
