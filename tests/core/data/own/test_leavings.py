"""What Finder, Windows, Jupyter and archives leave in folders: never a sample, never a class, never in the way."""

from pathlib import Path

from pfedgp_core.data.own.kinds import split_paths
from pfedgp_core.data.own.reader import check_data, read_samples
from tests.data_files import folder


def litter(root: Path) -> Path:
    image = (root / "cat" / "0.png").read_bytes()
    for name in (
        "cat/.ipynb_checkpoints/0-checkpoint.png",
        ".ipynb_checkpoints/1-checkpoint.png",
        "cat/._0.png",
        "__MACOSX/cat/0.png",
        "dog/@eaDir/3.png",
        "$RECYCLE.BIN/2.png",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(image)
    (root / "dog" / "Thumbs.db").write_bytes(b"x")
    (root / "labels.csv").write_text("file,label\n")
    return root


def test_leavings_are_no_samples_and_no_classes(tmp_path: Path) -> None:
    samples = read_samples(litter(folder(tmp_path)))
    assert samples.ids == ("cat/0.png", "cat/1.png", "cat/2.png", "dog/3.png", "dog/4.png", "dog/5.png")
    report = check_data(tmp_path)
    assert report.splits[0].counts == {"cat": 3, "dog": 3}
    assert "2 files (labels.csv, dog/Thumbs.db)" in report.text()


def test_leavings_beside_splits_do_not_make_them_classes(tmp_path: Path) -> None:
    for part in ("train", "test"):
        folder(tmp_path / part)
    (tmp_path / "__MACOSX" / "train").mkdir(parents=True)
    (tmp_path / ".ipynb_checkpoints").mkdir()
    assert split_paths(tmp_path) == {"train": tmp_path / "train", "test": tmp_path / "test"}
