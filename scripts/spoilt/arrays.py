"""Random spoilt ``.npz`` files of images or of vectors with names, as a site reads data for a model.

The same values come in other types, orders of axes and scales, and labels in the ways in which people store them.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.own.kept_split import assign_parts
from pfedgp_core.data.own.model_scale import scale_notes
from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.own.samples import Layout
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.errors import DataError

__all__ = ["FAULTS", "Arrays", "arrays", "judged", "tried"]

CLASSES = ("healthy", "ill", "unsure")
COLUMNS = ("age", "crp", "bmi")
ROWS, SIDE = 24, 6
MEAN, STD = np.array([61.0, 8.0, 25.5]), np.array([9.0, 3.0, 3.0])


@dataclass
class Arrays:
    """A file before it is written, and what it says: inputs, classes and patients."""

    held: dict[str, Any]
    inputs: np.ndarray
    classes: np.ndarray
    people: list[str]
    images: bool
    faults: list[str] = field(default_factory=list)


Fault = Callable[[random.Random, Arrays], None]


def _type(rng: random.Random, made: Arrays) -> None:
    whole = ["int64", ">i2", "int16", "uint16", "int8", "uint8"] if made.images else []
    kinds = ["float32", "float64", ">f4", "float16", "object", "U8", "complex64", *whole]
    made.held["inputs"] = made.held["inputs"].astype(rng.choice(kinds))


def _scale(rng: random.Random, made: Arrays) -> None:
    """Another range of images, or another unit of a column, in all samples."""
    x = made.held["inputs"] = made.held["inputs"].astype(np.float64)
    if not made.images:
        x[..., rng.randrange(x.shape[-1])] *= rng.choice([1000, 1e-3, 40])
        return
    way = rng.randrange(5)
    made.held["inputs"] = [x / 255, x / 127.5 - 1, (x * 257).astype(np.uint16), 255 - x, (x - 128).astype(np.int8)][way]
    if way == 3:
        made.held["inputs"] = made.held["inputs"].astype(np.uint8)


def _axes(rng: random.Random, made: Arrays) -> None:
    x = made.held["inputs"]
    if not made.images:
        made.held["inputs"] = rng.choice([np.asfortranarray(x), x.T, x[:, None], x[:, :2], x.reshape(-1), x[:-1]])
        return
    grey = x[:, 0]
    ways = [grey, grey[..., None], np.repeat(x, 3, 1), np.repeat(grey[..., None], 3, -1), np.asfortranarray(x)]
    ways += [grey.transpose(1, 2, 0), grey.reshape(len(x), -1), np.repeat(grey[..., None], 4, -1), grey[:, None, None]]
    made.held["inputs"] = rng.choice(ways)


def _values(rng: random.Random, made: Arrays) -> None:
    if made.held["inputs"].dtype.kind not in "iuf":
        return
    x = made.held["inputs"] = made.held["inputs"].astype(np.float32)
    x.flat[rng.randrange(x.size)] = rng.choice([np.nan, np.inf, *([-1.0, 300.5, 1e30] if made.images else [])])
    made.inputs = np.full_like(made.inputs, np.nan, np.float32)  # nothing that is read can be right


def _columns(rng: random.Random, made: Arrays) -> None:
    """Columns in another order, under other names, or without names."""
    if made.images:
        return
    x, way = made.held["inputs"], rng.randrange(5)
    order = rng.sample(range(3), 3)
    if way < 2 and x.ndim == 2 and x.shape[1] == 3:
        made.held["inputs"] = x[:, order]
        made.held["columns"] = np.array([COLUMNS[i] for i in order])
    elif way == 2:
        made.held["columns"] = np.array(["Age", *COLUMNS[1:]])
    elif way == 3:
        made.held["columns"] = np.array([" age ", *COLUMNS[1:]])
    else:
        made.held["columns"] = made.held["columns"].astype(rng.choice([object, "S8"]))


def _labels(rng: random.Random, made: Arrays) -> None:
    y = made.classes
    other = np.array([2, 0, 1])  # places of the classes in a list of the file's own
    own = np.array(["ill", "unsure", "healthy"])
    ways: list[dict[str, Any]] = [
        {"labels": y.astype(float)},
        {"labels": y[:, None]},
        {"labels": np.eye(3)[y]},
        {"labels": other[y], "class_names": own},
        {"labels": np.array(CLASSES)[y], "class_names": own},
        {"labels": np.array(CLASSES).astype("S9")[y]},
        {"labels": np.array(CLASSES, object)[y]},
        {"labels": np.array([str(i) for i in y])},
        {"labels": y + 1},
        {"labels": np.array(["Healthy", "ILL", "Unsure"])[y]},
        {"labels": np.where(y == 2, np.nan, y)},
        {"labels": y + 0.25},
        {"labels": np.eye(3)[y] * 0.9},
        {"labels": y[:-1]},
        {"y": y},
        {"labels": y - 1},
    ]
    chosen = rng.choice(ways)
    del made.held["labels"]
    made.held |= chosen


def _groups(rng: random.Random, made: Arrays) -> None:
    people = made.people
    numbers = [person[1:] for person in people]
    ways: list[Any] = [
        np.array([p.lower() if rng.random() < 0.3 else p for p in people]),
        np.array([f"{n}.0" if rng.random() < 0.3 else n for n in numbers]),
        np.array([f"0{n}" if rng.random() < 0.3 else n for n in numbers]),
        np.array([float(n) if i else np.nan for i, n in enumerate(numbers)]),
        np.array([p if i else "NA" for i, p in enumerate(people)]),
        np.array([[float(n)] for n in numbers]),
        np.array(people).astype("S4"),
        np.array(people)[:-1],
        np.array(people, object),
    ]
    made.held["groups"] = rng.choice(ways)


def _copies(rng: random.Random, made: Arrays) -> None:
    """Copies of samples that belong to other patients."""
    rows = rng.sample(range(ROWS), 5)
    made.held["inputs"] = np.concatenate([made.held["inputs"], made.held["inputs"][rows]])
    made.held["labels"] = np.concatenate([made.held["labels"], made.held["labels"][rows]])
    made.held["groups"] = np.concatenate([made.held["groups"], [f"Q{i}" for i in range(5)]])
    made.inputs = np.concatenate([made.inputs, made.inputs[rows]])
    made.classes = np.concatenate([made.classes, made.classes[rows]])
    made.people = [*made.people, *(f"Q{i}" for i in range(5))]


def _names(rng: random.Random, made: Arrays) -> None:
    """The arrays under other names, or another beside them."""
    way = rng.randrange(4)
    key = rng.choice([key for key in ("inputs", "labels", "groups") if key in made.held] or ["inputs"])
    if way == 0:
        made.held[key.upper()] = made.held.pop(key)
    elif way == 1:
        made.held[rng.choice(["data", "X_train", f"{key}_"])] = made.held.pop(key)
        if key == "groups":
            made.people = [str(i) for i in range(len(made.people))]
    elif way == 2:
        made.held["ids"] = np.arange(5)
    else:
        made.held[f"test_{key}"] = made.held[key]


# In the order in which they are made, where a file has several.
FAULTS: dict[str, Fault] = {
    "copies": _copies,
    "scale": _scale,
    "columns": _columns,
    "type": _type,
    "value": _values,
    "axes": _axes,
    "labels": _labels,
    "groups": _groups,
    "names": _names,
}


def arrays(seed: int) -> Arrays:
    """A spoilt file of images or, every other time, of vectors."""
    rng, draw = random.Random(seed), np.random.default_rng(seed)  # noqa: S311
    images = seed % 2 == 0
    classes = draw.permutation(np.arange(ROWS) % 3)
    people = [f"P{1 + i // 3}" for i in range(ROWS)]
    held: dict[str, Any] = {"labels": classes, "groups": np.array(people)}
    if images:
        inputs = draw.integers(0, 128, (ROWS, 1, SIDE, SIDE), dtype=np.uint8)
    else:
        inputs = draw.normal(MEAN, STD, (ROWS, 3)).round(2).astype(np.float32)
        held["columns"] = np.array(COLUMNS)
    made = Arrays({"inputs": inputs, **held}, inputs, classes, people, images)
    for name in sorted(rng.sample(list(FAULTS), rng.randint(1, 2)), key=list(FAULTS).index):
        FAULTS[name](rng, made)
        made.faults.append(name)
    return made


def judged(made: Arrays, file: Path) -> str:
    """``refused``, ``noted`` or ``read``; ``WRONG`` where it is something else, or a patient in two parts unsaid."""
    np.savez(file, **made.held)
    shape = made.inputs.shape[1:]
    moments = (np.array([0.25]), np.array([0.15])) if made.images else (MEAN, STD)
    layout = Layout(model_range="0..255") if made.images else Layout(WantedColumns(COLUMNS))
    try:
        samples = read_samples(file, input_shape=shape, layout=layout)
        classes = map_classes(samples.labels or (), CLASSES)
    except DataError:
        return "refused"
    inputs = samples.inputs if made.images else samples.inputs.astype(np.float32)
    meant = made.inputs
    if made.images and inputs.dtype != np.uint8:
        meant = meant.astype(np.float32) / np.float32(255)
    right = inputs.shape == meant.shape and np.allclose(inputs, meant, rtol=1e-3, atol=0)  # float16 rounds
    if right and np.array_equal(classes, made.classes):
        assert samples.digests is not None
        digests = [row.tobytes().hex() for row in samples.digests]
        parts = assign_parts(digests, list(samples.labels or ()), groups=samples.groups)
        if len({*zip(made.people, parts, strict=True)}) == len(set(made.people)):
            return "read"
    if scale_notes(inputs, samples.columns, *moments):
        return "noted"
    report = check_data(file, class_names=CLASSES, input_shape=shape, layout=layout)
    told = " ".join(report.remarks)
    positional = "columns" not in made.held and "no names of columns" in told
    return "noted" if not right and (positional or "Equal to another one" in told) else "WRONG"


def tried(seed: int, folder: Path) -> tuple[list[str], str]:
    """The faults of one file, and how it was judged."""
    made = arrays(seed)
    return made.faults, judged(made, folder / "a.npz")
