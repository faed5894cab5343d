"""What `pfedgp check-data` finds: everything at once, and what is unusual and works."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.data.own.reader import check_data
from pfedgp_core.errors import ConfigError, DataError
from tests.data_files import IMAGES, folder, refused


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
    assert not report.trainable
    assert report.splits[0].counts == {"cat": 3, "dog": 3}
    for expected in (
        "Unreadable: 2 of 10 images",
        "cat/broken.png (not an image)",
        "7 of 8 bits, 1 of 16 bits",
        "1 of 8 images",
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
    assert report.trainable
    assert "single sample: cat" in report.text()
    (tmp_path / "t.csv").write_text("a,label\n2,dog\n3,dog\n")
    alone = check_data(tmp_path / "t.csv")
    assert alone.trainable
    assert "only the class 'dog': a site with these data can take part" in alone.text()
    assert not check_data(tmp_path / "t.csv", input_shape=(2,)).trainable
    with pytest.raises(DataError, match="nothing at"):
        check_data(tmp_path / "none")


def test_a_class_of_other_sizes_is_named_and_the_rest_is_not_called_the_only_class(tmp_path: Path) -> None:
    folder(tmp_path)
    for path in (tmp_path / "dog").iterdir():
        Image.fromarray(IMAGES[0, :4]).save(path)
    Image.fromarray(IMAGES[0]).save(tmp_path / "cat" / "z.png")
    text = check_data(tmp_path).text()
    assert "3 of 7 images, 3 of 4 x 6" in text
    assert "No usable image is left of: 'dog'." in text
    assert "only the class" not in text


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
    assert report.trainable
    assert "Equal inputs with different classes: 1 input (such as one in cat, dog)" in report.text()
    (tmp_path / "x").mkdir()
    np.savez(tmp_path / "x" / "train.npz", x=np.eye(3), y=[0, 1, 1])
    np.savez(tmp_path / "x" / "test.npz", x=np.eye(3)[1:], y=[1, 1])
    assert "In train too: 2 inputs of test" in check_data(tmp_path / "x").text()


def test_check_of_built_in_sets_and_of_what_is_no_file(tmp_path: Path) -> None:
    report = check_data("digits", input_shape=(3, 4, 4), resize=True)
    assert report.trainable
    assert [part.usable for part in report.splits] == [1078, 362, 357]
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
    assert report.trainable
    assert not report.splits[0].counts
    (tmp_path / "t.csv").write_text("a,label\n1,1.5\n2,high\n3,inf\n")
    (problem,) = check_data(tmp_path / "t.csv", regression=True).problems
    assert "The target 'high' of sample 2 is no finite number (2 such samples)" in problem


def test_check_resizes_as_a_run_would(tmp_path: Path) -> None:
    folder(tmp_path)
    Image.fromarray(IMAGES[0, :4]).save(tmp_path / "dog" / "small.png")
    assert not check_data(tmp_path).trainable
    assert check_data(tmp_path, input_shape=(1, 8, 6), resize=True).trainable


@pytest.mark.parametrize(
    ("inputs", "labels", "problem"),
    [
        (
            np.ones((2, 2)),
            ["a\nb", "c"],
            r"Not a name of a class: a\nb (has the invisible character U+000A); give names",
        ),
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
    assert not report.trainable
    assert problem in report.text()
    assert all(line.isprintable() for line in report.text().splitlines())


def test_check_of_blank_names_and_of_one_name_in_two_forms(tmp_path: Path) -> None:
    for i, name in enumerate((" ", "caf\u00e9", "cafe\u0301", "tea")):
        (tmp_path / name).mkdir()
        Image.fromarray(IMAGES[i]).save(tmp_path / name / "0.png")
    report = check_data(tmp_path)
    assert any("blank name" in problem for problem in report.problems)
    assert report.splits[0].counts == {"": 1, "caf\u00e9": 2, "tea": 1}
    assert any("counted as one class each: caf\u00e9." in remark for remark in report.remarks)
