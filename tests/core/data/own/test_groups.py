"""Groups of samples, such as patients: whole in one part, in data that grow too, and kept as hashes alone."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from client.own_site import SPLIT_FILE, OwnSite
from client.source import Source
from pfedgp.cli import main
from pfedgp_core.data.own.groups import (
    former_group_hashes,
    group_hashes,
    group_key,
    group_numbers,
    shared_groups_text,
    units_of,
)
from pfedgp_core.data.own.kept_split import assign_parts, keep_split
from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.own.split_file import KeptSplit, write_split
from pfedgp_core.errors import ArtefactError, DataError
from tests.data_files import refused

FOLDER = Layout(group_column="folder")


def digests(n: int) -> list[str]:
    return [f"{(i * 7919) % 10**6:064d}" for i in range(n)]


def groups(n: int, size: int) -> list[str]:
    return [f"patient-{i // size}" for i in range(n)]


def torn(parts: list[str], names: list[str]) -> list[str]:
    """Groups with samples in several parts."""
    found: dict[str, set[str]] = {}
    for part, name in zip(parts, names, strict=True):
        found.setdefault(name, set()).add(part)
    return [name for name, where in found.items() if len(where) > 1]


@pytest.mark.parametrize("size", [1, 3, 10])
def test_a_group_is_whole_and_classes_keep_their_shares(size: int) -> None:
    classes = ["cat"] * 60 + ["dog"] * 60
    names = groups(120, size)
    parts = assign_parts(digests(120), classes, groups=names)
    assert not torn(parts, names)
    for name in ("cat", "dog"):
        counts = Counter(part for part, own in zip(parts, classes, strict=True) if own == name)
        assert abs(counts["train"] - 36) <= size
        assert counts["validation"] > 0
        assert counts["test"] > 0


def test_groups_of_one_sample_change_nothing() -> None:
    classes = ["cat", "dog"] * 30
    names = [str(i) for i in range(60)]
    assert assign_parts(digests(60), classes, groups=names) == assign_parts(digests(60), classes)


def test_copies_join_the_groups_that_have_them() -> None:
    keys = ["a", "b", "b", "c", "d"]
    assert units_of(keys, ["x", "x", "y", "y", "z"]) == {"a": "a", "b": "a", "c": "a", "d": "d"}
    parts = assign_parts(keys, ["k"] * 5, groups=["x", "x", "y", "y", "z"])
    assert len(set(parts[:4])) == 1


def test_a_patient_s_next_image_comes_to_the_part_of_the_former(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    keys, names = digests(60), groups(60, 4)
    first = keep_split(file, keys[:30], ["cat"] * 30, groups=names[:30])
    grown = keep_split(file, keys, ["cat"] * 60, groups=names)
    assert grown[:30] == first
    assert not torn(grown, names)
    # The samples of a patient were away for a while: the file knows the patient all the same.
    away = keep_split(file, ["f" * 64], ["cat"], groups=[names[0]])
    assert away == [first[0]]
    assert "patient" not in file.read_text()


def test_a_split_that_was_drawn_without_groups_is_not_taken_with_them(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    keep_split(file, digests(30), ["cat"] * 30)
    before = file.read_bytes()
    with pytest.raises(DataError, match=r"The group 'patient-\d' has samples.* of the kept split"):
        keep_split(file, digests(30), ["cat"] * 30, groups=groups(30, 10))
    assert file.read_bytes() == before


def test_a_file_with_changed_groups_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    keep_split(file, digests(30), ["cat"] * 30, groups=groups(30, 3))
    about = json.loads(file.read_text())
    assert about["schema_version"] == 2
    about["groups"]["test"].append("0" * 64)
    file.write_text(json.dumps(about))
    with pytest.raises(ArtefactError, match="changed after it was written"):
        keep_split(file, digests(30), ["cat"] * 30)


def grouped_folder(root: Path) -> Path:
    """Twelve patients in two classes with five images each; two of them are in both classes."""
    from PIL import Image

    draw = np.random.default_rng(0)
    for patient in range(12):
        for i in range(5):
            kind = "ill" if patient % 2 or (patient < 4 and i > 2) else "well"
            (root / kind / f"p{patient}").mkdir(parents=True, exist_ok=True)
            image = draw.integers(0, 256, (8, 8)).astype(np.uint8)
            Image.fromarray(image).save(root / kind / f"p{patient}" / f"{i}.png")
    return root


def test_a_folder_per_patient_is_a_group(tmp_path: Path) -> None:
    root = grouped_folder(tmp_path / "data")
    samples = read_samples(root, layout=FOLDER)
    assert len(set(samples.groups or ())) == 12
    site = OwnSite(Source("ward", str(root), state=str(tmp_path), layout=FOLDER)).refresh()
    where = {part: set(own.groups or ()) for part, own in site.parts.items()}
    assert sum(map(len, where.values())) == 12
    assert set.union(*where.values()) == set(samples.groups or ())
    assert "p1" not in (tmp_path / SPLIT_FILE).read_text()
    (root / "ill" / "alone.png").write_bytes((root / "ill" / "p1" / "0.png").read_bytes())
    assert "No group for 1 of 61 images (ill/alone.png)" in refused(root, layout=FOLDER)


def test_an_array_of_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = np.random.default_rng(0)
    arrays = {"x": draw.normal(size=(40, 3)), "y": np.arange(40) % 2}
    np.savez(tmp_path / "a.npz", **arrays, groups=np.repeat(np.arange(10), 4))
    np.savez(tmp_path / "b.npz", **arrays, patient=np.repeat(np.arange(10), 4))
    assert (
        read_samples(tmp_path / "a.npz").groups
        == read_samples(tmp_path / "b.npz", layout=Layout(group_column="patient")).groups
    )
    assert "none of the groups 'site'" in refused(tmp_path / "b.npz", layout=Layout(group_column="site"))
    np.savez(tmp_path / "c.npz", **arrays, groups=np.arange(10))
    assert "40 inputs and groups of shape [10]" in refused(tmp_path / "c.npz")
    assert main(["check-data", str(tmp_path / "b.npz"), "--group-column", "patient"]) == 0
    assert "10 groups of samples, each of which stays in one split" in capsys.readouterr().out


def test_a_group_in_two_parts_of_the_data_is_refused(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    for part, first in (("train", 0), ("test", 3)):
        np.savez(
            tmp_path / f"{part}.npz",
            x=draw.normal(size=(8, 3)),
            y=np.arange(8) % 2,
            groups=np.repeat(np.arange(first, first + 4), 2),
        )
    said = check_data(tmp_path).problems[0]
    assert "1 group in several parts of the data ('3'; the first in train and test)" in said
    with pytest.raises(DataError, match="1 group in several parts"):
        OwnSite(Source("ward", str(tmp_path))).refresh()


def test_equal_samples_are_noted_and_never_in_two_splits(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", x=np.tile(draw.normal(size=(5, 3)), (8, 1)), y=np.tile(np.arange(5) % 2, 8))
    assert "Equal to another one: 35 of 40 samples, 5 different" in check_data(tmp_path / "a.npz").text()
    site = OwnSite(Source("ward", str(tmp_path / "a.npz"))).refresh()
    rows = [{row.tobytes() for row in own.inputs} for own in site.parts.values()]
    assert sum(map(len, rows)) == 5


def test_images_without_classes_have_the_patient_of_their_folder(tmp_path: Path) -> None:
    read = read_samples(grouped_folder(tmp_path / "new") / "ill", labelled=False, layout=FOLDER)
    assert read.groups == tuple(name.split("/")[0] for name in read.ids)
    Path(tmp_path / "new" / "ill" / "p1" / "0.png").rename(tmp_path / "new" / "ill" / "alone.png")
    assert read_samples(tmp_path / "new" / "ill", labelled=False, layout=FOLDER).groups is None


def test_numbers_of_groups() -> None:
    assert group_numbers(["b", "a", "", "b", ""]).tolist() == [0, 1, 2, 0, 3]


def test_ways_of_writing_a_name_are_one_group() -> None:
    names = ["P7", "p7", " P7", "P 07", "P10", "7", "7.0", "007", "7a"]
    assert [group_key(name) for name in names] == ["p7", "p7", "p7", "p7", "p10", "7", "7", "7", "7a"]
    assert len(set(group_hashes(names[:4]))) == 1
    unit = units_of(list("abcdefghi"), names)
    assert [unit[each] for each in "abcdefghi"] == ["a", "a", "a", "a", "e", "f", "f", "f", "i"]
    assert "P7" in shared_groups_text({"train": ["P7", "x"], "test": ["p07"]})


def test_a_split_of_a_former_version_keeps_its_groups(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    former = former_group_hashes(["P7"])[0]
    assert former == hashlib.sha256(b"pfedgp-group\0P7").hexdigest()
    write_split(file, KeptSplit({"f" * 64: "test"}, {former: "test"}))
    assert keep_split(file, ["e" * 64], ["cat"], groups=["P7"]) == ["test"]


def test_check_data_says_which_names_of_groups_it_takes_as_one_and_which_may_be(tmp_path: Path) -> None:
    rows = [f"{i},{'ab'[i % 2]},{name}" for i, name in enumerate(["P7", "p7", "7", "P8", "P9", "P9"])]
    (tmp_path / "t.csv").write_text("\n".join(["v,label,who", *rows]))
    report = check_data(tmp_path / "t.csv", layout=Layout(group_column="who"))
    assert "4 groups of samples" in report.text()
    assert "Groups written in several ways, each taken as one: 'P7' and 'p7'." in report.text()
    assert "Groups that may be the same and are taken as two: '7' and 'P7';" in report.text()


@pytest.mark.parametrize("gap", ["NA", "nan", " ", "NULL"])
def test_a_gap_is_no_group(gap: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"v,label,who\n1,a,x\n2,b,{gap}\n")
    assert "No group in 1 of 2 rows" in refused(tmp_path / "t.csv", layout=Layout(group_column="who"))
    np.savez(tmp_path / "t.npz", x=np.eye(2), y=[0, 1], groups=["x", gap])
    assert "No group for 1 of 2 samples" in refused(tmp_path / "t.npz")
