"""Data of three hospitals for docs/tutorial.md, from data sets that lie in scikit-learn, statsmodels and pydicom.

    python experiments/tutorial_data.py cancer|diabetes|heart|dicom [FOLDER]

Each hospital writes its files in its own way. Some samples of each are kept apart, as those that come next year.
"""

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

__all__ = ["KINDS", "main"]

SITES = ("north", "south", "west")
NEW = 15  # samples of each site that come later
NEW_HEARTS = 4  # the same of 69 patients in all
PATIENTS, SLICES = 36, 2  # of each site
SIZE = 32  # height and width of an image
NODULE = 350.0  # Hounsfield units in its middle
Row = dict[str, str]


def cancer(folder: Path) -> None:
    """569 tumours. South has another order of columns and decimal commas, west writes classes in capitals."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    rows: list[Row] = [
        {
            **dict(zip(found.feature_names, map("{:g}".format, values), strict=True)),
            "label": str(found.target_names[kind]),
        }
        for values, kind in zip(found.data, found.target, strict=True)
    ]
    ways: dict[str, Callable[[Row], Row]] = {
        "north": dict,
        "south": lambda row: dict(reversed(row.items())),
        "west": lambda row: row | {"label": row["label"].upper()},
    }
    for site, own in _divided(rows):
        _write(folder, site, [ways[site](row) for row in own], comma=site == "south")


def diabetes(folder: Path) -> None:
    """442 patients, with texts, truth values and gaps, which each hospital writes in its own way.

    The class says whether the disease went on more than in half of all. Blood sugar is missing for one in eight, and
    low values are stated as a limit at west.
    """
    from sklearn.datasets import load_diabetes

    found = load_diabetes(scaled=False)
    gone, middle = np.random.default_rng(0).random(len(found.target)) < 1 / 8, float(np.median(found.target))
    rows: list[Row] = []
    for (age, sex, bmi, pressure, *blood), target, gap in zip(found.data, found.target, gone, strict=True):
        row = {"age": f"{age:g}", "sex": "fm"[int(sex) - 1], "bmi": f"{bmi:g}"}
        row["pressure"] = ("normal", "raised", "high")[int(pressure > 95) + int(pressure > 105)]
        row["obese"] = str(int(bmi >= 30))
        row |= {
            name: f"{value:g}" for name, value in zip(("tc", "ldl", "hdl", "tch", "ltg", "sugar"), blood, strict=True)
        }
        row["sugar"] = "" if gap else row["sugar"]
        rows.append(row | {"label": "progressed" if target > middle else "stable"})
    ways = {"north": _of_north, "south": _of_south, "west": _of_west}
    for site, own in _divided(rows):
        _write(folder, site, [ways[site](row) for row in own], comma=site == "south")


def _of_north(row: Row) -> Row:
    return row | {"obese": ("no", "yes")[int(row["obese"])]}


def _of_south(row: Row) -> Row:
    return {name: row[name] for name in sorted(row)} | {"sugar": row["sugar"] or "-999"}


def _of_west(row: Row) -> Row:
    sugar = "<75" if row["sugar"] and float(row["sugar"]) < 75 else row["sugar"]
    return row | {
        "sex": {"f": "female", "m": "male"}[row["sex"]],
        "obese": ("FALSE", "TRUE")[int(row["obese"])],
        "sugar": sugar,
    }


def heart(folder: Path) -> None:
    """69 patients with a transplanted heart: whether they died, or lived when the study ended.

    The group of age is made of it, and the age of every third one is then left out. What a group is called differs in
    case, and by chance few patients at north are younger or older.
    """
    from statsmodels.datasets import heart as transplants

    rows: list[Row] = []
    for place, (days, died, age) in enumerate(transplants.load_pandas().data.to_numpy().tolist()):
        row = {"days": f"{days:g}", "age": "" if place % 3 == 0 else f"{age:g}"}
        row["group"] = "under 45" if age < 45 else "45 to 52" if age < 52 else "over 52"
        row |= {"year": "yes" if days > 365 else "no", "label": "died" if died else "lived"}
        rows.append(row)
    for site, own in _divided(rows):
        said = [row | {"group": row["group"].upper()} if site == "south" else row for row in own]
        _write(folder, site, said, comma=site == "south", later=NEW_HEARTS)


def dicom(folder: Path) -> None:
    """Parts of pydicom's CT with and without a nodule, 16 bits, two slices of each patient.

    South packs them (RLE), and west stores values with another slope and intercept; all mean the same Hounsfield units.
    """
    import pydicom
    from pydicom.data import get_testdata_file

    source = get_testdata_file("CT_small.dcm", download=False)
    if source is None:
        raise SystemExit("pydicom lies here without its test files: install its wheel.")
    scan = pydicom.dcmread(source)
    units = scan.pixel_array * float(scan.RescaleSlope) + float(scan.RescaleIntercept)
    draw = np.random.default_rng(0)
    for site in SITES:
        for patient in range(PATIENTS + NEW // SLICES):
            kind = ("clear", "nodule")[patient % 2]
            place = folder / (site if patient < PATIENTS else f"{site}-new") / kind
            place.mkdir(parents=True, exist_ok=True)
            for number in range(SLICES):
                file = place / f"{kind}-{patient:02}-{number}.dcm"
                _slice(_image(units, kind == "nodule", draw), f"{site}-{patient}", site).save_as(file)


def _image(units: np.ndarray, nodule: bool, draw: np.random.Generator) -> np.ndarray:
    """A part of the scan in Hounsfield units [H, W], with noise, and a nodule if wanted."""
    top, left = draw.integers((64, 0), np.array(units.shape) - SIZE)  # soft tissue, without lung and bone
    made = units[top : top + SIZE, left : left + SIZE] + draw.normal(0, 10, (SIZE, SIZE))
    if nodule:
        at, (y, x) = draw.uniform(8, SIZE - 8, 2), np.mgrid[:SIZE, :SIZE]
        made = made + NODULE * np.exp(-((y - at[0]) ** 2 + (x - at[1]) ** 2) / (2 * 3.0**2))
    return made


def _slice(units: np.ndarray, patient: str, site: str) -> "pydicom.Dataset":  # noqa: F821
    import pydicom
    from pydicom.data import get_testdata_file
    from pydicom.uid import RLELossless, generate_uid

    own = pydicom.dcmread(str(get_testdata_file("CT_small.dcm", download=False)))
    slope, intercept = (0.5, -1500.0) if site == "west" else (1.0, -1024.0)
    own.PatientID, own.PatientName = patient, "Nobody"
    own.SOPInstanceUID = own.file_meta.MediaStorageSOPInstanceUID = generate_uid()
    own.RescaleSlope, own.RescaleIntercept = slope, intercept
    own.Rows, own.Columns = units.shape
    own.PixelData = np.round((units - intercept) / slope).astype("<i2").tobytes()
    if site == "south":
        own.compress(RLELossless, generate_instance_uid=False)
    return own


def _divided(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """A third of the rows for each site, the same in every call."""
    order = np.random.default_rng(0).permutation(len(rows))
    for number, site in enumerate(SITES):
        yield site, [rows[i] for i in order[number :: len(SITES)]]


def _write(folder: Path, site: str, rows: Sequence[Row], comma: bool, later: int = NEW) -> None:
    """The site's table, and one of later samples."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in ((site, rows[later:]), (f"{site}-new", rows[:later])):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(part[0]), delimiter=";" if comma else ",")
            table.writeheader()
            for row in part:
                table.writerow({key: cell.replace(".", ",") for key, cell in row.items()} if comma else row)


KINDS: dict[str, Callable[[Path], None]] = {"cancer": cancer, "diabetes": diabetes, "heart": heart, "dicom": dicom}


def main(kind: str = "", folder: str = "") -> None:
    """Write the data of one part of the tutorial."""
    if kind not in KINDS:
        raise SystemExit(f"Give one of {', '.join(KINDS)}, and where its data go.")
    KINDS[kind](Path(folder or "."))


if __name__ == "__main__":
    main(*sys.argv[1:])
