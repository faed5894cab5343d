"""Images in folders: a folder of a site with one folder per class, or images without classes to predict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pfedgp_core.data.own.channels import CHANNELS, SLICES
from pfedgp_core.data.own.groups import group_name
from pfedgp_core.data.own.image_fit import asked_channels, check_sizes, resized_note
from pfedgp_core.data.own.image_listing import ImageFile, list_images, name_below
from pfedgp_core.data.own.layout import FOLDER
from pfedgp_core.data.own.pictures import Picture, fitted_page, read_picture
from pfedgp_core.data.own.ranged import chosen_range
from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted, input_digests
from pfedgp_core.data.value_range import Extent, extent_of, in_numbers
from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.regular import MalformedError, decoding
from pfedgp_core.words import counted, few, shape_text

__all__ = ["image_blocks", "load_image_folder"]

KIND = "folder of images by class"
_UNKNOWN = np.empty(0, np.uint8)
_KINDS = {
    "uint8": "8 bits",
    "uint16": "16 bits",
    "integer": "whole numbers",
    "float": "floating point",
    "rescaled": "a unit",
}


@dataclass(frozen=True, eq=False)
class _Kept:
    """A sample that was read: a page, or all pages of a file."""

    file: ImageFile
    page: str
    array: np.ndarray
    digest: np.ndarray
    kind: str
    group: str


class _Reading:
    """What was read of a folder so far, and what is to be said of it."""

    def __init__(self, folder: Path, wanted: Wanted, total: int) -> None:
        self.folder, self.wanted, self.total = folder, wanted, total
        self.channels = asked_channels(wanted)
        self.size = None if wanted.input_shape is None else wanted.input_shape[1:]
        self.kept: list[_Kept] = []
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.extents: dict[str, Extent] = {}
        self.forms: Counter[str] = Counter()
        self.unreadable: list[str] = []
        self.paged: list[str] = []
        self.clear = self.held = 0

    def read(self, file: ImageFile) -> None:
        """Read a file, or note why not."""
        name = name_below(file.path, self.folder)
        try:
            with decoding(file.path):
                picture = read_picture(file.path, self.held, self.wanted.layout)
                if len(picture.pages) > 1 and not self.wanted.layout.pages:
                    self.paged.append(f"{name} has {len(picture.pages)}")
                    return
                self._add(file, picture)
        except UnreadableFileError as error:
            self.unreadable.append(f"{name} ({error.reason})")
            return
        self.forms[picture.form] += 1
        self.clear += picture.alpha

    def _add(self, file: ImageFile, picture: Picture) -> None:
        together = self.wanted.layout.pages == CHANNELS and len(picture.pages) > 1
        if together and len({page.size for page in picture.pages}) > 1:
            raise MalformedError("its pages have several sizes, so they are no channels of one image")
        native = [fitted_page(page, 1 if together else None, None) for page in picture.pages]
        fitted = []
        for page, own in zip(picture.pages, native, strict=True):
            fits = self.size is None or self.wanted.resize or own.shape[1:] == self.size
            fitted.append(fitted_page(page, 1 if together else self.channels, self.size) if fits else None)
        if together:
            whole = None if fitted[0] is None else np.concatenate([array for array in fitted if array is not None])
            native, fitted = [np.concatenate(native)], [whole]
        for number, (own, array) in enumerate(zip(native, fitted, strict=True)):
            self.sizes[own.shape[1], own.shape[2]] += 1
            extent = replace(extent_of(own), kind=picture.kind)
            known = self.extents.get(picture.kind)
            self.extents[picture.kind] = extent if known is None else known.joined(extent)
            if array is not None:
                self.held += array.nbytes
                name = f"#{number + 1}" if len(picture.pages) > 1 and not together else ""
                digest = input_digests(own[None])[0] if self.wanted.digests else _UNKNOWN
                self.kept.append(_Kept(file, name, array, digest, picture.kind, picture.group))


def load_image_folder(folder: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read all images below a folder; the folders directly in it are the classes.

    Images that cannot be read or have another size or kind of numbers than the others are left out and noted. Images
    are turned upright as their EXIF data say, and become grey or RGB as the model asks.

    Parameters
    ----------
    folder : Path
    wanted : Wanted
    findings : Findings
        Receives what is wrong.

    Returns
    -------
    Samples or None
        uint8 [N, C, H, W], or float32 where images hold other values than bytes; None where no image is usable.
    """
    findings.kind = KIND
    return _read(folder, list_images(folder, wanted, findings), wanted, findings)


def image_blocks(folder: Path, wanted: Wanted, rows: int) -> Iterator[Block]:
    """Read the same so many images at a time, for a model whose inputs have a known shape.

    Parameters
    ----------
    folder : Path
    wanted : Wanted
        With the shape of the model's inputs.
    rows : int
    """
    findings = Findings(KIND)
    files = list_images(folder, wanted, findings)
    for first in range(0, max(len(files), 1), rows):
        part = files[first : first + rows]
        yield Block(_read(folder, part, wanted, findings), findings, (first + len(part)) / max(len(files), 1))
        findings = Findings(KIND)


def _read(folder: Path, files: list[ImageFile], wanted: Wanted, findings: Findings) -> Samples | None:
    if not files:
        return None
    reading = _Reading(folder, wanted, len(files))
    stacked = wanted.layout.pages == CHANNELS and wanted.input_shape is not None and len(wanted.input_shape) == 3
    if wanted.input_shape is not None and reading.channels is None and not stacked:
        findings.problem(
            f"These are images, and the model takes inputs of shape {shape_text(wanted.input_shape)}: give data of "
            "that shape, or another model."
        )
        return None
    wanted.require_room(len(files), len({file.label for file in files if file.label}))
    for file in files:
        reading.read(file)
    _note_files(reading, findings)
    size = reading.size or (reading.sizes.most_common(1)[0][0] if reading.sizes else None)
    if not wanted.resize:
        check_sizes(reading.sizes, size, wanted, findings)
    elif size is not None and (count := sum(n for other, n in reading.sizes.items() if other != size)):
        findings.remark(resized_note(count, reading.sizes.total(), size))
    kind = _usual_kind(reading, findings)
    usable = [one for one in reading.kept if one.array.shape[1:] == size and one.kind == kind]
    usable = _of_usual_pages(usable, findings) if wanted.layout.pages == CHANNELS else usable
    if lost := sorted({file.label for file in files} - {one.file.label for one in usable}):
        findings.remark(f"No usable image is left of: {few([repr(label) for label in lost])}.")
    name = chosen_range(reading.extents[kind], wanted.layout, findings) if usable else None
    if name is None:
        return None
    return _samples(reading, usable, name, findings)


def _samples(reading: _Reading, usable: list[_Kept], name: str, findings: Findings) -> Samples | None:
    wanted = reading.wanted
    inputs = in_numbers(_stack([one.array for one in usable]), name)
    if inputs.dtype.kind == "f" and not (finite := np.isfinite(inputs).all(axis=(1, 2, 3))).all():
        first = usable[int((~finite).argmax())]
        findings.problem(
            f"NaN or infinity in {int((~finite).sum())} of {counted(len(usable), 'image')} (the first is "
            f"{name_below(first.file.path, reading.folder)}): fill the gaps or remove them."
        )
        usable, inputs = [one for one, good in zip(usable, finite, strict=True) if good], inputs[finite]
        if not usable:
            return None
    if reading.channels is None and (grey := sum(len(one.array) < inputs.shape[1] for one in usable)):
        findings.remark(
            f"Grey among coloured images: {grey} of {len(usable)}; all are read as colour, {inputs.shape[1]} channels."
        )
    labels = tuple(one.file.label for one in usable)
    return Samples(
        inputs,
        tuple(name_below(one.file.path, reading.folder) + one.page for one in usable),
        labels if any(labels) else None,
        digests=np.stack([one.digest for one in usable]) if wanted.digests else None,
        value_range=name,
        groups=_groups(reading, usable, findings),
    )


def _groups(reading: _Reading, usable: list[_Kept], findings: Findings) -> tuple[str, ...] | None:
    """The patient's folder or DICOM field of each image, as the user says; where nothing is said the file of slices."""
    layout, labelled = reading.wanted.layout, reading.wanted.labelled
    by_folder = layout.group_column == FOLDER
    # Without classes the folders at the top may be the patients.
    groups = tuple(
        one.file.folder or (one.file.label, "")[labelled] if by_folder else group_name(one.group) for one in usable
    )
    if not layout.group_column or not (labelled or all(groups)):
        paged = layout.pages == SLICES and any(one.page for one in usable)
        return tuple(name_below(one.file.path, reading.folder) for one in usable) if paged else None
    if layout.group_kept and not all(groups):
        return None
    if alone := [name_below(one.file.path, reading.folder) for one, own in zip(usable, groups, strict=True) if not own]:
        asks = "folder of its own for each patient in the class's folder" if by_folder else "DICOM file with that field"
        findings.problem(
            f"No group for {len(alone)} of {counted(len(usable), 'image')} ({few(alone)}): --group-column "
            f"{layout.group_column} asks for a {asks}."
        )
    return groups


def _note_files(reading: _Reading, findings: Findings) -> None:
    """Say what could not be read, and what a person should know of the files."""
    if reading.unreadable:
        findings.problem(
            f"Unreadable: {len(reading.unreadable)} of {counted(reading.total, 'image')}, {few(reading.unreadable)}; "
            "replace or remove them."
        )
    if reading.paged:
        findings.problem(
            f"Several pages in {len(reading.paged)} of {counted(reading.total, 'image')} ({few(reading.paged)}): give "
            "--pages slices to have each page as a sample, or --pages channels to have them as channels of one."
        )
    if reading.clear:
        findings.remark(
            f"Transparency (alpha) is left out of {reading.clear} of {counted(reading.total, 'image')}: what lies "
            "beneath it is seen."
        )
    if "JPEG" in reading.forms and len(reading.forms) > 1:
        listed = ", ".join(f"{count} {form}" for form, count in reading.forms.most_common())
        findings.remark(
            f"Files of several kinds ({listed}): JPEG leaves traces by which a model may tell images apart; convert "
            "all to one kind if they come from different places."
        )


def _usual_kind(reading: _Reading, findings: Findings) -> str:
    """The kind of numbers that most images hold; the others are a problem."""
    kinds = Counter(one.kind for one in reading.kept)
    if not kinds:
        return ""
    usual = kinds.most_common(1)[0][0]
    if len(kinds) > 1:
        others = few([f"{count} of {_KINDS[kind]}" for kind, count in kinds.most_common() if kind != usual])
        findings.problem(
            f"Images of several kinds of numbers: {kinds[usual]} of {_KINDS[usual]}, {others}; bring all to one kind."
        )
    return usual


def _of_usual_pages(kept: list[_Kept], findings: Findings) -> list[_Kept]:
    """The images with as many channels as most have; the others are a problem."""
    counts = Counter(len(one.array) for one in kept)
    if len(counts) < 2:
        return kept
    usual = counts.most_common(1)[0][0]
    findings.problem(
        f"Files of several numbers of pages: {few([f'{n} of {pages}' for pages, n in counts.most_common()])}; as "
        "channels all need the same number."
    )
    return [one for one in kept if len(one.array) == usual]


def _stack(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """[N, C, H, W]; grey images among coloured ones are repeated in all three colours."""
    channels = max(len(array) for array in arrays)
    return np.stack([np.repeat(a, channels, axis=0) if len(a) < channels else a for a in arrays])
