"""``pfedgp simulate --dataset PATH``: a user's own images, arrays and volumes, with sites and patients."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import dataset_of
from pfedgp_core.data.sets.own_data import OwnData, own_data
from pfedgp_core.errors import ConfigError, DataError
from server.run.model_file import load_model
from tests.ordered_tables import patients
from tests.own_sites import DIGITS, IMAGES, rows_of

ROWS = rows_of(0, 1, 2, 3, of=2)


def archive(path: Path, **more: np.ndarray) -> Path:
    np.savez(path, images=IMAGES[ROWS], labels=DIGITS[ROWS], **more)
    return path


def by_hospital(path: Path, sites: int = 4, patients: int = 40) -> Path:
    draw = np.random.default_rng(0)
    owner = draw.integers(0, patients, len(ROWS))
    return archive(path, hospital=owner % sites + 7, groups=owner)


@pytest.mark.slow
def test_a_simulation_on_own_arrays_by_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = by_hospital(tmp_path / "a.npz"), tmp_path / "run"
    options = ["--partition-by", "hospital", "--rounds", "4", "--set", "learning-rate=0.1", "--out", str(out)]
    assert main(["simulate", "--dataset", str(data), *options, "--workers", "1"]) == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "completed"
    assert summary["accuracy"] > 0.7
    meta = load_model(out / "best")[1]
    assert meta["clients"] == ["hospital-07", "hospital-08", "hospital-09", "hospital-10"]
    assert meta["value_range"] == "0..255"
    assert meta["settings"]["data-root"] == str(data)
    capsys.readouterr()
    assert main(["partition", "--dataset", str(data), "--partition-by", "hospital"]) == 0
    assert "hospital-10" in capsys.readouterr().out


def test_patients_stay_in_one_split_and_copies_too(tmp_path: Path) -> None:
    dataset = own_data(OwnData(str(by_hospital(tmp_path / "a.npz")), partition_by="hospital"))
    arrays = np.load(tmp_path / "a.npz")
    of = {image.tobytes(): group for image, group in zip(arrays["images"], arrays["groups"].tolist(), strict=True)}
    where = {part: {of[image.tobytes()] for image in split.inputs[:, 0]} for part, split in dataset.splits().items()}
    assert not where["train"] & where["validation"]
    assert not where["train"] & where["test"]
    assert not where["validation"] & where["test"]
    assert sum(map(len, dataset.splits().values())) == len(ROWS)


def test_each_group_can_be_a_client(tmp_path: Path) -> None:
    dataset = own_data(OwnData(str(by_hospital(tmp_path / "a.npz", patients=12)), partition_by="group"))
    assert dataset.sites is not None
    assert dataset.sites.names == tuple(f"group-{i:02}" for i in range(12))
    with pytest.raises(ConfigError, match="needs groups"):
        own_data(OwnData(str(archive(tmp_path / "b.npz")), partition_by="group"))


def test_a_description_registers_a_data_set(tmp_path: Path) -> None:
    for i, row in enumerate(ROWS[:60].tolist()):
        folder = tmp_path / "scans" / f"d{DIGITS[row]}" / f"p{i // 3}"
        folder.mkdir(parents=True, exist_ok=True)
        pages = [Image.fromarray(IMAGES[row]), Image.fromarray(IMAGES[row][::-1].copy())]
        pages[0].save(folder / f"{i}.tif", save_all=True, append_images=pages[1:])
    file = tmp_path / "scans.toml"
    file.write_text('path = "scans"\npages = "slices"\ngroup-column = "folder"\n')
    dataset = dataset_of(Settings(dataset="own-data", data_root=str(file)))
    assert sum(map(len, dataset.splits().values())) == 120
    assert dataset.class_names == ("d0", "d1", "d2", "d3")
    file.write_text('path = "scans"\nslices = "yes"\n')
    with pytest.raises(ConfigError, match="has 'slices'"):
        own_data(OwnData(str(file)))
    file.write_text("path = 3\n")
    with pytest.raises(ConfigError, match="has 'path'"):
        own_data(OwnData(str(file)))


def test_a_table_by_the_column_of_its_hospital(tmp_path: Path) -> None:
    values, labels = patients(120, 0)
    rows = [
        f"{','.join(f'{v:.4f}' for v in row)},{'north' if i % 3 else 'south'},p{i // 8},{label}"
        for i, (row, label) in enumerate(zip(values, labels, strict=True))
    ]
    file = tmp_path / "a.csv"
    file.write_text("\n".join(["age,crp,bmi,hospital,patient,sick", *rows]) + "\n")
    source = OwnData(str(file), "sick", "patient", "hospital")
    dataset = own_data(source)
    assert dataset.columns == ("age", "crp", "bmi")
    assert dataset.sites is not None
    assert dataset.sites.names == ("hospital-north", "hospital-south")
    assert sum(dataset.sites.counts(part) for part in dataset.splits()).tolist() == [80, 40]
    told = tmp_path / "a.toml"
    told.write_text('path = "a.csv"\nlabel-column = "sick"\ngroup-column = "patient"\ndrop = "hospital"\n')
    by_patient = own_data(OwnData(str(told), partition_by="group"))
    assert by_patient.sites is not None
    assert len(by_patient.sites.names) == 15


def test_data_with_splits_keep_them(tmp_path: Path) -> None:
    for part, rows in (("train", ROWS[:100]), ("test", ROWS[100:140])):
        np.savez(tmp_path / f"{part}.npz", images=IMAGES[rows], labels=DIGITS[rows])
    dataset = own_data(OwnData(str(tmp_path)))
    assert len(dataset.test) == 40
    assert 15 <= len(dataset.validation) <= 25
    assert len(dataset.train) + len(dataset.validation) == 100
    np.testing.assert_array_equal(dataset.test.inputs[:, 0], IMAGES[ROWS[100:140]])


def test_changed_files_are_read_again(tmp_path: Path) -> None:
    source = OwnData(str(archive(tmp_path / "a.npz")))
    first = own_data(source)
    assert own_data(source) is first
    np.savez(tmp_path / "a.npz", images=IMAGES[ROWS[:50]], labels=DIGITS[ROWS[:50]])
    assert sum(map(len, own_data(source).splits().values())) == 50


def test_targets_of_a_regression(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", x=draw.normal(size=(40, 3)), y=draw.normal(size=40))
    dataset = dataset_of(Settings(dataset="own-data", data_root=str(tmp_path / "a.npz"), task="regression"))
    assert dataset.class_names == ()
    assert dataset.train.labels.dtype == np.float64


def test_images_that_are_no_bytes_have_no_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES[ROWS] / 255, labels=DIGITS[ROWS])
    assert main(["simulate", "--dataset", str(tmp_path / "a.npz"), "--noise", "imagenet-c"]) == 2
    assert "for images of bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dataset", "./nothing/here"], "nothing at --dataset"),
        (["--dataset", "train.csv", "--label-column", "outcome"], "There is nothing at --dataset train.csv"),
        (["--dataset", "Scans.NPZ"], "There is nothing at --dataset Scans.NPZ"),
        (["--dataset", "data.toml"], "There is nothing at --dataset data.toml"),
        (["--dataset", "digts"], "did you mean 'digits'"),
        (["--dataset", "DATA", "--data-root", "x"], "a path of its own"),
        (["--dataset", "own-data"], "needs the path of the data"),
        (["--dataset", "DATA", "--partition-by", "ward"], "none of the groups 'ward'"),
    ],
)
def test_mistakes_are_named(options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(archive(tmp_path / "a.npz"))
    assert main(["simulate", *[data if word == "DATA" else word for word in options]]) == 2
    assert said in capsys.readouterr().err


def test_a_site_has_to_be_a_name(tmp_path: Path) -> None:
    owner = np.array(["a\nb", "c"])[np.arange(len(ROWS)) % 2]
    with pytest.raises(DataError, match="cannot be the name of a client"):
        own_data(OwnData(str(archive(tmp_path / "a.npz", ward=owner)), partition_by="ward"))


def test_the_command_that_finds_more_problems_has_the_options_that_the_data_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["age,crp,no,who,outcome", "x,1,1,a,ill", "1,y,2,b,well", "2,3,3,c,", "4,z,4,d,ill"]
    table = tmp_path / "my train.csv"
    table.write_text("\n".join(rows) + "\n")
    options = ["--label-column", "outcome", "--group-column", "who"]
    assert main(["simulate", "--dataset", str(table), *options, "--out", str(tmp_path / "run")]) == 2
    more, command = re.search(r"\((\d+) more found by: (.+?)\)", capsys.readouterr().err).groups()  # type: ignore[union-attr]
    assert main(shlex.split(command)[1:]) == 2
    found = capsys.readouterr().out
    assert "fill the column 'outcome'" in found
    assert sum(line.lstrip().startswith("problem:") for line in found.splitlines()) == int(more) + 1


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r"a\u0000b.csv", "'a\\x00b.csv' holds a null character: leave it out"),
        (r"~/a\u0000", "'~/a\\x00' holds a null character: leave it out"),
        ("", "has an empty path"),
        ("  ", "has an empty path"),
    ],
)
def test_a_description_without_a_usable_path_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str, said: str
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f'path = "{written}"\n')
    assert main(["partition", "--dataset", str(file)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("given", ["", " "])
def test_an_empty_path_is_not_the_working_folder(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["partition", "--dataset", given]) == 2
    assert "--dataset is empty" in capsys.readouterr().err
    assert main(["check-data", given]) == 2
    assert "path of the data is empty" in capsys.readouterr().err
