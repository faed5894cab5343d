"""Labels that are numbers, or words in several cases, are the same classes in CSV, Parquet and npz."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.own.reader import check_data, read_samples

VALUES = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])


def write(path: Path, labels: list[object]) -> Path:
    if path.suffix == ".npz":
        np.savez(path, x=VALUES, y=np.array(labels))
    elif path.suffix == ".csv":
        rows = [f"{a},{b},{label}" for (a, b), label in zip(VALUES.tolist(), labels, strict=True)]
        path.write_text("\n".join(["u,v,label", *rows]) + "\n")
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"u": VALUES[:, 0], "v": VALUES[:, 1], "label": labels}), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
@pytest.mark.parametrize("labels", [[0.0, 1.0, 0.0, 1.0], ["0.000000", "1.000000", "0", "1."], [0, 1, 0, 1]])
def test_whole_numbers_are_the_same_classes_in_every_kind_of_file(
    suffix: str, labels: list[object], tmp_path: Path
) -> None:
    file = write(tmp_path / f"t{suffix}", labels)
    assert check_data(file).splits[0].counts == {"0": 2, "1": 2}
    samples = read_samples(file)
    assert map_classes(samples.labels or (), ["0", "1"]).tolist() == [0, 1, 0, 1]


def test_spellings_of_one_word_are_one_class_and_noted(tmp_path: Path) -> None:
    part = check_data(write(tmp_path / "t.csv", ["Benign", "benign", "BENIGN ", "ill"])).splits[0]
    assert part.counts == {"BENIGN": 3, "ill": 1}
    assert "counted as one class each: BENIGN" in part.remarks[0]
