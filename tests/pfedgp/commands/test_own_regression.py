"""A user's own data of a regression are divided 60 / 20 / 20 too, whatever their targets are."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.sets.own_data import OwnData, own_data


def table(path: Path, n: int, seed: int = 0) -> Path:
    """Rows whose targets all differ, and a column of two sites."""
    draw = np.random.default_rng(seed)
    rows = "".join(f"{a:.6f},{b:.6f},{i % 2},{a - b:.6f}\n" for i, (a, b) in enumerate(draw.normal(size=(n, 2))))
    path.write_text(f"a,b,ward,label\n{rows}")
    return path


def sizes(root: Path, partition_by: str = "") -> list[int]:
    dataset = own_data(OwnData(str(root), partition_by=partition_by, regression=True))
    return [len(split) for split in dataset.splits().values()]


def test_distinct_targets_leave_samples_for_validation_and_test(tmp_path: Path) -> None:
    assert sizes(table(tmp_path / "a.csv", 300)) == [180, 60, 60]


def test_each_site_of_a_regression_has_its_own_test_samples(tmp_path: Path) -> None:
    dataset = own_data(OwnData(str(table(tmp_path / "a.csv", 200)), partition_by="ward", regression=True))
    assert dataset.sites is not None
    assert [dataset.sites.counts(part).tolist() for part in dataset.splits()] == [[60, 60], [20, 20], [20, 20]]


def test_a_regression_without_a_part_of_its_own_gets_it_from_its_training_samples(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", 100)
    table(tmp_path / "test.csv", 30, seed=1)
    assert sizes(tmp_path) == [80, 20, 30]


def test_partition_shows_the_test_samples_of_a_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(table(tmp_path / "a.csv", 300))
    options = ["--set", "task=regression", "--clients", "3", "--partition", "homogeneous"]
    assert main(["partition", "--dataset", data, *options]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("client-00")]
    assert row[1:4] == ["60", "20", "20"]
