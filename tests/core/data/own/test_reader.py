"""A site's own data: every format gives the same samples, and every fault one sentence."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.data.datasets import DATASETS
from pfedgp_core.data.own.class_ids import map_classes, to_split
from pfedgp_core.data.own.reader import BUILTIN, check_data, read_samples, read_splits
from pfedgp_core.errors import ConfigError, DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 8, 6), dtype=np.uint8)
NAMES = ["cat", "cat", "cat", "dog", "dog", "dog"]
TABLE = "a,b,label\n1,2,cat\n3,4,dog\n"


def folder(root: Path, images: np.ndarray = IMAGES) -> Path:
    for i, (image, name) in enumerate(zip(images, NAMES, strict=True)):
        (root / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / name / f"{i}.png")
    return root


def refused(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_samples(path, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_folder_of_images(tmp_path: Path) -> None:
    samples = read_samples(folder(tmp_path), input_shape=(1, 8, 6))
    np.testing.assert_array_equal(samples.inputs[:, 0], IMAGES)
    assert samples.labels == tuple(NAMES)
    assert samples.ids == tuple(f"{name}/{i}.png" for i, name in enumerate(NAMES))
    split = to_split(samples, ("bird", "cat", "dog"))
    assert split.labels.tolist() == [1, 1, 1, 2, 2, 2]


def test_grey_and_colour_as_the_model_asks(tmp_path: Path) -> None:
    grey = folder(tmp_path / "grey")
    colour = read_samples(grey, input_shape=(3, 8, 6)).inputs
    assert colour.shape == (6, 3, 8, 6) and (colour == colour[:, :1]).all()
    rgb = np.repeat(IMAGES[..., None], 3, axis=3)
    assert read_samples(folder(tmp_path / "rgb", rgb), input_shape=(1, 8, 6)).inputs.shape == (6, 1, 8, 6)
    np.testing.assert_array_equal(read_samples(tmp_path / "rgb").inputs, colour)
    # One coloured image among grey ones.
    Image.fromarray(rgb[0]).save(grey / "dog" / "z.png")
    assert read_samples(grey).inputs.shape == (7, 3, 8, 6)
    assert "Grey among coloured images: 6 of 7" in check_data(grey).text()
    assert "Grey among" not in check_data(grey, input_shape=(1, 8, 6)).text() + check_data(tmp_path / "rgb").text()


def test_other_sizes_are_refused_unless_resized(tmp_path: Path) -> None:
    folder(tmp_path)
    Image.fromarray(IMAGES[0, :4]).save(tmp_path / "dog" / "small.png")
    assert "1 of 7 images, 1 of 4 x 6" in refused(tmp_path, input_shape=(1, 8, 6))
    assert "the most common size" in refused(tmp_path)
    assert read_samples(tmp_path, input_shape=(1, 8, 6), resize=True).inputs.shape == (7, 1, 8, 6)
    assert "the model takes inputs of shape 5" in refused(tmp_path, input_shape=(5,))


@pytest.mark.parametrize("shape", [(6, 8, 6), (6, 1, 8, 6), (6, 8, 6, 1)])
def test_npz_layouts(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES.reshape(shape), y=np.array(NAMES))
    samples = read_samples(tmp_path / "a.npz", input_shape=(1, 8, 6))
    np.testing.assert_array_equal(samples.inputs[:, 0], IMAGES)
    assert samples.labels == tuple(NAMES) and samples.ids[:2] == ("1", "2")
    assert "give --resize" in refused(tmp_path / "a.npz", input_shape=(1, 4, 4))
    resized = read_samples(tmp_path / "a.npz", input_shape=(3, 4, 4), resize=True)
    assert resized.inputs.shape == (6, 3, 4, 4)


def test_npz_class_names_are_the_file_s_own(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(2), labels=[1, 0], class_names=["dog", "cat"])
    samples = read_samples(tmp_path / "a.npz")
    assert samples.labels == ("cat", "dog") and samples.inputs.dtype == np.float32
    np.savez(tmp_path / "b.npz", x=np.eye(2), labels=[1, 2], class_names=["dog", "cat"])
    assert "labels a sample '2'" in refused(tmp_path / "b.npz")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(separator: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\ufeff" + TABLE.replace(",", separator), encoding="utf-8")
    samples = read_samples(file)
    assert samples.inputs.tolist() == [[1, 2], [3, 4]] and samples.labels == ("cat", "dog")
    assert samples.columns == ("a", "b") and samples.ids == ("1", "2")


def test_csv_without_labels_is_for_prediction(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert read_samples(tmp_path / "t.csv", labelled=False).labels is None
    assert "no column 'label' for the classes, but a, b" in refused(tmp_path / "t.csv")
    assert read_samples(tmp_path / "t.csv", label_column="b").labels == ("2",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,label\n1;5,cat\n", "'1;5' in row 1, column 'a'"),
        ("a;label\n1,5;cat\n", "decimal point"),
        ("a,label\n1,cat\n,dog\n", "1 of 2 rows (the first is row 2, column 'a')"),
        ("a,label\n1e39,cat\n", "Missing or infinite"),
        ("a,label\n1,cat\n2,\n", "No class in 1 of 2 rows (the first is row 2)"),
        ("a,label\n1,cat\n2\n", "row 2 has 1"),
        ("a,a,label\n1,1,cat\n", "several columns named a"),
        ("label\ncat\n", "no column beside the label"),
        ("a,label\n", "has no row"),
        ("", "none at all"),
    ],
)
def test_bad_tables(content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    assert expected in refused(tmp_path / "t.csv")


def test_tables_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,label\n\xff,cat\n")
    assert "not UTF-8" in refused(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(b"a,label\n\0,cat\n")
    assert "t.csv" in refused(tmp_path / "t.csv")


def test_parquet_names_the_package_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install pyarrow" in refused(tmp_path / "t.parquet")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"a": [1.0, 3.0, None], "label": ["cat", None, "dog"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    report = check_data(tmp_path / "t.parquet")
    assert report.splits[0].usable == 1 and len(report.problems) == 2
    parquet.write_table(table.slice(0, 1), tmp_path / "t.parquet")
    assert read_samples(tmp_path / "t.parquet").labels == ("cat",)
    (tmp_path / "t.parquet").write_bytes(b"no")
    assert "cannot be read as Parquet" in refused(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"labels": [1]}, "none of inputs, images"),
        ({"x": np.eye(2)}, "none of labels, y"),
        ({"x": np.eye(2), "y": [1]}, "2 inputs and labels of shape [1]"),
        ({"x": np.zeros((2, 2, 2)), "y": [0, 1]}, "give images as uint8"),
        ({"x": np.array([[1.0], [np.nan]]), "y": [0, 1]}, "NaN or infinity in 1 of 2 samples (the first is row 2)"),
        ({"x": np.eye(2), "y": ["a", ""]}, "No class for 1 of 2 samples"),
        ({"x": np.zeros((0, 2)), "y": np.zeros(0, int)}, "no sample"),
        ({"x": np.eye(2), "y": np.array([{}, {}], dtype=object)}, "Python objects"),
    ],
)
def test_bad_archives(arrays: dict[str, np.ndarray], expected: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    assert expected in refused(tmp_path / "a.npz")


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04broken")
    assert "cannot be read as .npz" in refused(tmp_path / "a.npz")
    assert "There is nothing at" in refused(tmp_path / "none")
    (tmp_path / "a.xlsx").touch()
    assert "of no known kind" in refused(tmp_path / "a.xlsx")
    (tmp_path / "empty").mkdir()
    assert "no image" in refused(tmp_path / "empty")


def test_integers_are_positions_unless_classes_are_called_so() -> None:
    assert map_classes(["1", "0", "01"], ("cat", "dog")).tolist() == [1, 0, 1]
    assert map_classes(["7", "8"], ("8", "7")).tolist() == [1, 0]
    assert map_classes(["Be\u0301nin"], ("B\u00e9nin",)).tolist() == [0]
    for names, expected in ((["2"], "'2' is none of"), (["dgo"], "did you mean 'dog'"), (["-1"], "none of")):
        with pytest.raises(DataError, match=expected):
            map_classes(names, ("cat", "dog"))


def test_splits(tmp_path: Path) -> None:
    folder(tmp_path / "train")
    np.savez(tmp_path / "val.npz", x=IMAGES[:, None], y=NAMES)
    (tmp_path / "README.txt").touch()
    parts = read_splits(tmp_path)
    assert list(parts) == ["train", "validation"] and parts["validation"].labels == tuple(NAMES)
    assert "has the splits train, validation" in refused(tmp_path)
    assert len(read_samples(tmp_path, split="train")) == 6
    assert [part.split for part in check_data(tmp_path).splits] == ["train", "validation"]
    # Classes may be called like splits.
    (tmp_path / "x").mkdir()
    for name in ("train", "test"):
        (tmp_path / "x" / name).mkdir()
        Image.fromarray(IMAGES[0]).save(tmp_path / "x" / name / "1.png")
    assert list(read_splits(tmp_path / "x")) == ["train"]
    assert read_samples(tmp_path / "x").labels == ("test", "train")


def test_check_finds_everything_at_once(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "cat" / "broken.png").write_bytes(b"no image")
    (tmp_path / "cat" / "cut.png").write_bytes((tmp_path / "cat" / "0.png").read_bytes()[:60])
    (tmp_path / "cat" / "notes.txt").touch()
    (tmp_path / "eel").mkdir()
    Image.fromarray(IMAGES[0].astype(np.uint16) * 200).save(tmp_path / "dog" / "deep.png")
    Image.fromarray(IMAGES[0, :4]).save(tmp_path / "dog" / "small.png")
    Image.fromarray(IMAGES[0]).save(tmp_path / "loose.png")
    report = check_data(tmp_path, class_names=("cat", "bird"))
    text = report.text()
    assert not report.trainable and report.splits[0].counts == {"cat": 3, "dog": 3}
    for expected in (
        "Unreadable: 3 of 10 images",
        "cat/broken.png (not an image)",
        "more than 8 bits",
        "1 of 7 images",
        "No class for 1 image (loose.png)",
        "'dog' is none of the federation's 2 classes",
        "class 'eel' holds no image",
        "1 file (cat/notes.txt)",
    ):
        assert expected in text, text
    assert "more found by: pfedgp check-data" in refused(tmp_path)


def test_check_notes_what_is_unusual_and_works(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label\n1,cat\n2,dog\n3,dog\n")
    report = check_data(tmp_path / "t.csv", input_shape=(1,))
    assert report.trainable and "single sample: cat" in report.text()
    (tmp_path / "t.csv").write_text("a,label\n2,dog\n3,dog\n")
    alone = check_data(tmp_path / "t.csv")
    assert alone.trainable and "only the class 'dog': a site with these data can take part" in alone.text()
    assert not check_data(tmp_path / "t.csv", input_shape=(2,)).trainable
    with pytest.raises(DataError, match="nothing at"):
        check_data(tmp_path / "none")


def test_a_class_of_other_sizes_is_named_and_the_rest_is_not_called_the_only_class(tmp_path: Path) -> None:
    folder(tmp_path)
    for path in (tmp_path / "dog").iterdir():
        Image.fromarray(IMAGES[0, :4]).save(path)
    Image.fromarray(IMAGES[0]).save(tmp_path / "cat" / "z.png")
    text = check_data(tmp_path).text()
    assert "3 of 7 images, 3 of 4 x 6" in text and "No usable image is left of: 'dog'." in text
    assert "only the class" not in text


def test_names_of_built_in_sets_are_known_without_loading_them() -> None:
    assert set(DATASETS) == BUILTIN


def test_check_notes_images_within_folders_of_a_class(tmp_path: Path) -> None:
    folder(tmp_path / "data" / "images")
    report = check_data(tmp_path / "data")
    assert report.splits[0].counts == {"images": 6}
    assert "6 images in folders within a class, such as images/cat/0.png in class 'images'" in report.text()
    assert f"is {tmp_path / 'data' / 'images'} meant?" in report.text()
    assert "meant?" not in check_data(tmp_path / "data" / "images").text()


def test_check_notes_contradictions_and_what_is_in_two_parts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label\n1,cat\n1,dog\n2,dog\n-0,cat\n0,cat\n")
    report = check_data(tmp_path / "t.csv")
    assert (
        report.trainable and "Equal inputs with different classes: 1 input (such as one in cat, dog)" in report.text()
    )
    (tmp_path / "x").mkdir()
    np.savez(tmp_path / "x" / "train.npz", x=np.eye(3), y=[0, 1, 1])
    np.savez(tmp_path / "x" / "test.npz", x=np.eye(3)[1:], y=[1, 1])
    assert "In train too: 2 inputs of test" in check_data(tmp_path / "x").text()


def test_check_of_built_in_sets_and_of_what_is_no_file(tmp_path: Path) -> None:
    report = check_data("digits", input_shape=(3, 4, 4), resize=True)
    assert report.trainable and [part.usable for part in report.splits] == [1078, 362, 357]
    assert report.splits[0].input_shape == (3, 4, 4)
    with pytest.raises(ConfigError, match="needs no files"):
        check_data("digits", data_root="/data")
    with pytest.raises(ConfigError, match="built-in data set"):
        check_data(tmp_path, data_root="/data")
    for special in ("/dev/null", "/dev/zero"):
        with pytest.raises(DataError, match="of no known kind"):
            check_data(special)


def test_check_of_a_regression(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label\n1,1.5\n2,-3e2\n")
    report = check_data(tmp_path / "t.csv", regression=True)
    assert report.trainable and not report.splits[0].counts
    (tmp_path / "t.csv").write_text("a,label\n1,1.5\n2,high\n3,inf\n")
    (problem,) = check_data(tmp_path / "t.csv", regression=True).problems
    assert "The target 'high' of sample 2 is no finite number (2 such samples)" in problem


def test_check_resizes_as_a_run_would(tmp_path: Path) -> None:
    folder(tmp_path)
    Image.fromarray(IMAGES[0, :4]).save(tmp_path / "dog" / "small.png")
    assert not check_data(tmp_path).trainable
    assert check_data(tmp_path, input_shape=(1, 8, 6), resize=True).trainable


def test_npz_with_a_class_named_twice(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.eye(2), labels=[1, 0], class_names=["dog", "dog"])
    assert "names the class 'dog' twice" in refused(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("inputs", "labels", "problem"),
    [
        (np.ones((2, 2)), ["a\nb", "c"], r"Not a name of a class: a\nb; give names of at most 200"),
        (np.ones((2, 2)), ["a" * 201, "c"], "Not a name of a class: aaa"),
        (np.ones((2, 0)), ["a", "b"], "so no values"),
        (
            np.array([[1, 2], [1, 3e35]]),
            ["a", "b"],
            "Values beyond 1e+30 in 1 of 2 samples (the first is row 2, column 2)",
        ),
    ],
)
def test_check_finds_what_no_federation_takes(
    inputs: np.ndarray, labels: list[str], problem: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "a.npz", x=inputs, y=np.array(labels))
    report = check_data(tmp_path / "a.npz")
    assert not report.trainable and problem in report.text()
    assert all(line.isprintable() for line in report.text().splitlines())


def test_check_of_blank_names_and_of_one_name_in_two_forms(tmp_path: Path) -> None:
    for i, name in enumerate((" ", "caf\u00e9", "cafe\u0301", "tea")):
        (tmp_path / name).mkdir()
        Image.fromarray(IMAGES[i]).save(tmp_path / name / "0.png")
    report = check_data(tmp_path)
    assert any("blank name" in problem for problem in report.problems)
    assert report.splits[0].counts == {"": 1, "caf\u00e9": 2, "tea": 1}
    assert any("counted as one class each: caf\u00e9." in remark for remark in report.remarks)
