"""Sites with data of their own for tests: scikit-learn's digits in several formats, and a grid of such sites."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from client.client_app import app as client_app
from client.own_site import own_site
from pfedgp_core.config import Settings
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import QUICK

PIXELS, DIGITS = load_digits(return_X_y=True)
IMAGES = (PIXELS.reshape(-1, 8, 8) * 15).astype(np.uint8)
OWN = Settings(
    clients_per_round=3,
    min_clients=3,
    rounds=6,
    evaluate_every=3,
    learning_rate=0.1,
    wait_timeout=20.0,
    personalise=False,
    gp=QUICK,
)


def rows_of(*classes: int, of: int = 3, part: int = 0) -> np.ndarray:
    """Rows of some digits; every `of`-th of them, beginning at `part`, so that sites share no sample."""
    rows = np.flatnonzero(np.isin(DIGITS, classes))
    return rows[part::of]


def image_folder(path: Path, rows: np.ndarray, size: int = 8) -> Path:
    """A folder of images per digit, called d0 to d9."""
    for row in rows.tolist():
        folder = path / f"d{DIGITS[row]}"
        folder.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(IMAGES[row])
        (image if size == 8 else image.resize((size, size))).save(folder / f"{row}.png")
    return path


def archive(path: Path, rows: np.ndarray) -> Path:
    """The same in one .npz file."""
    np.savez(path, images=IMAGES[rows], labels=np.array([f"d{digit}" for digit in DIGITS[rows]]))
    return path


def vector_archive(path: Path, rows: np.ndarray) -> Path:
    """The 64 grey levels as vectors."""
    np.savez(path, x=PIXELS[rows], y=np.array([f"d{digit}" for digit in DIGITS[rows]]))
    return path


def table(path: Path, rows: np.ndarray) -> Path:
    """The 64 grey levels as columns of a CSV file."""
    header = ",".join([f"p{i}" for i in range(64)] + ["label"])
    lines = [",".join([*(f"{v:g}" for v in PIXELS[row]), f"d{DIGITS[row]}"]) for row in rows.tolist()]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def in_other_units(path: Path, column: int) -> Path:
    """The table at `path` with one of its columns in other units."""
    head, *rows = path.read_text().splitlines()
    split = [row.split(",") for row in rows]
    for cells in split:
        cells[column] = str(float(cells[column]) * 1e7 + 5e6)
    path.write_text("\n".join([head, *map(",".join, split)]) + "\n")
    return path


class OwnGrid(FakeGrid):
    """A grid of sites with data of their own, by name."""

    def __init__(self, sites: dict[str, Path | str], tamper: Tamper | None = None, **node_config: Any) -> None:
        super().__init__(client_app, 0, tamper)
        own_site.cache_clear()  # a new grid stands for new processes at the sites
        self.names: dict[int, str] = {}
        for name, path in sites.items():
            self.add_site(name, path, **node_config)

    def add_site(self, name: str, path: Path | str, **node_config: Any) -> int:
        """Connect a site."""
        node = self.add_node({"client-name": name, "data-path": str(path)} | node_config)
        self.names[node] = name
        return node

    def index(self, node_id: int) -> int:
        """Position of a site by name."""
        return sorted(self.names.values()).index(self.names[node_id])


def three_image_sites(root: Path) -> dict[str, Path]:
    """A folder of images, an archive, and an archive in parts; their digits overlap in part."""
    parts = root / "parts"
    parts.mkdir()
    rows = np.random.default_rng(0).permutation(rows_of(4, 5, 6, 7, part=2))
    for name, chosen in zip(("train", "val", "test"), np.split(rows, [140, 190]), strict=True):
        archive(parts / f"{name}.npz", chosen)
    return {
        "ward-a": image_folder(root / "images", rows_of(0, 1, 2, 3, part=0)),
        "ward-b": archive(root / "b.npz", rows_of(2, 3, 4, 5, part=1)),
        "ward-c": parts,
    }
