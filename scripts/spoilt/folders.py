"""Random spoilt folders of images by class, with a folder for each patient, as a site reads data for a model.

Each image has known pixels, a class and a patient. It has to be read as what it was, refused, or named in a note.
"""

import random
from pathlib import Path

import numpy as np
from PIL import Image

from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.own.kept_split import assign_parts
from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.own.samples import Layout
from pfedgp_core.errors import DataError
from scripts.spoilt.image_faults import CLASSES, FAULTS, SIZE, STORING, Picture, Shelf, stored

__all__ = ["judged", "shelf", "tried"]

IMAGES, PATIENTS = 16, 6
DARK = 0.25  # mean of the model's images, of 0 to 1
LOSSY = 8.0  # mean difference of grey values that JPEG may leave
ROUNDED = 1.0  # what YCbCr rounds
LAYOUT = Layout(group_column="folder", model_range="0..255")


def shelf(seed: int) -> Shelf:
    """A spoilt folder."""
    rng, draw = random.Random(seed), np.random.default_rng(seed)  # noqa: S311
    pictures = []
    for number in range(IMAGES):
        kind = number % 2
        smooth = draw.uniform(0, 2 * DARK * 255, (3, 3)).astype(np.uint8)
        pixels = np.array(Image.fromarray(smooth).resize((SIZE, SIZE), Image.Resampling.BILINEAR))
        person = f"P{1 + number % PATIENTS}"
        pictures.append(Picture(pixels, stored(pixels), CLASSES[kind], person, f"{number}.png", kind, person))
    made = Shelf(pictures)
    chosen = sorted(rng.sample(list(FAULTS), rng.randint(1, 3)), key=list(FAULTS).index)
    anew = [name for name in chosen if name in STORING]  # each stores the files, so there can be one
    kept = rng.choice(anew) if anew else ""
    for name in (n for n in chosen if n not in anew or n == kept):
        FAULTS[name](rng, made)
        made.faults.append(name)
    return made


def judged(made: Shelf, folder: Path) -> str:
    """``refused``, ``noted`` or ``read``; ``WRONG`` where it is something else, or a patient in two parts unsaid."""
    made.write(folder)
    shape = (1, SIZE, SIZE)
    moments = np.array([DARK]), np.array([DARK / 2])
    try:
        samples = read_samples(folder, input_shape=shape, layout=LAYOUT)
        classes = map_classes(samples.labels or (), CLASSES).tolist()
    except DataError:
        return "refused"
    report = check_data(folder, class_names=CLASSES, input_shape=shape, layout=LAYOUT, moments=moments)
    assert samples.digests is not None
    digests = [row.tobytes().hex() for row in samples.digests]
    parts = assign_parts(digests, list(samples.labels or ()), groups=samples.groups)
    people: dict[str, set[str]] = {}
    found = []
    for name, pixels, kind, part in zip(samples.ids, samples.inputs[:, 0], classes, parts, strict=True):
        known = [p for p in made.pictures if f"{p.label}/{p.patient}/{p.name}" == name]
        same = bool(known) and kind == known[0].kind and _alike(pixels, known[0])
        found.append(name if same else "")
        people.setdefault(known[0].person if known else name, set()).add(part)
    whole = all(found) and len(set(found)) == len(made.pictures)
    if whole and all(len(where) == 1 for where in people.values()):
        return "read"
    return "noted" if any(word in remark for word in made.told for remark in report.remarks) else "WRONG"


def _alike(pixels: np.ndarray, picture: Picture) -> bool:
    difference = np.abs(pixels.astype(float) - picture.pixels)
    lossy = picture.stored.startswith(b"\xff\xd8")
    return float(difference.mean()) <= (LOSSY if lossy else 0) or float(difference.max()) <= ROUNDED


def tried(seed: int, folder: Path) -> tuple[list[str], str]:
    """The faults of one folder, and how it was judged."""
    made = shelf(seed)
    return made.faults, judged(made, folder / f"images-{seed}")
