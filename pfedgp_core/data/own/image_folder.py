"""Images in folders: a folder of a site with one folder per class, or images without classes to predict."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted, input_digests
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.image import SUFFIXES, read_image
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, one_line
from pfedgp_core.words import counted, few, shape_text

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["SUFFIXES", "fit_arrays", "has_images", "image_blocks", "load_image_folder"]

_GREY = ("1", "L", "LA")
_UNKNOWN = np.empty(0, np.uint8)
_MODES = {1: "L", 3: "RGB"}


def has_images(folder: Path) -> bool:
    """Whether a file directly in the folder has the name of an image."""
    return any(_is_image(path) for path in folder.iterdir())


def load_image_folder(folder: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read all images below a folder; the folders directly in it are the classes.

    Images that cannot be read, hold more than 8 bits a colour or have another size are left out and noted. Images are
    turned upright as their EXIF data say, and become grey or RGB as the model asks.

    Parameters
    ----------
    folder : Path
    wanted : Wanted
    findings : Findings
        Receives what is wrong.

    Returns
    -------
    Samples or None
        uint8 [N, C, H, W]; None where no image is usable.
    """
    findings.kind = "folder of images by class"
    return _read(folder, _list(folder, wanted, findings), wanted, findings)


def image_blocks(folder: Path, wanted: Wanted, rows: int) -> Iterator[Block]:
    """Read the same so many images at a time, for a model whose inputs have a known shape.

    Parameters
    ----------
    folder : Path
    wanted : Wanted
        With the shape of the model's inputs.
    rows : int
    """
    findings = Findings("folder of images by class")
    files = _list(folder, wanted, findings)
    for first in range(0, max(len(files), 1), rows):
        part = files[first : first + rows]
        yield Block(_read(folder, part, wanted, findings), findings, (first + len(part)) / max(len(files), 1))
        findings = Findings("folder of images by class")


def _read(folder: Path, files: list[tuple[Path, str]], wanted: Wanted, findings: Findings) -> Samples | None:
    channels = _channels(wanted)
    if not files:
        return None
    if wanted.input_shape is not None and channels is None:
        findings.problem(
            f"These are images, and the model takes inputs of shape {shape_text(wanted.input_shape)}: give data of "
            "that shape, or another model."
        )
        return None
    wanted.require_room(len(files), len({label for _, label in files if label}))
    size = None if wanted.input_shape is None else wanted.input_shape[1:]
    arrays, kept, digests, unreadable, held = [], [], [], [], 0
    sizes: Counter[tuple[int, int]] = Counter()
    for path, label in files:
        try:
            with decoding(path):
                image = read_image(path, partial(_require_usable, held))
                digest = input_digests(_to_array(image, None, None)[None])[0] if wanted.digests else _UNKNOWN
                fits = size is None or wanted.resize or (image.height, image.width) == size
                array = _to_array(image, channels, size) if fits else None
        except UnreadableFileError as error:
            unreadable.append(f"{_name(path, folder)} ({error.reason})")
            continue
        sizes[image.height, image.width] += 1
        if array is not None:
            arrays.append(array)
            held += array.nbytes
            kept.append((path, label))
            digests.append(digest)
    if unreadable:
        findings.problem(
            f"Unreadable: {len(unreadable)} of {counted(len(files), 'image')}, {few(unreadable)}; replace or remove "
            "them."
        )
    if size is None and sizes:
        size = sizes.most_common(1)[0][0]
    if not wanted.resize:
        _check_sizes(sizes, size, wanted, findings)
    usable = [i for i, array in enumerate(arrays) if array.shape[1:] == size]
    if lost := sorted({label for _, label in files} - {kept[i][1] for i in usable}):
        findings.remark(f"No usable image is left of: {few([repr(label) for label in lost])}.")
    if not usable:
        return None
    inputs = _stack([arrays[i] for i in usable])
    if channels is None and (grey := sum(len(arrays[i]) < inputs.shape[1] for i in usable)):
        findings.remark(
            f"Grey among coloured images: {grey} of {len(usable)}; all are read as colour, {inputs.shape[1]} channels."
        )
    labels = tuple(kept[i][1] for i in usable)
    ids = tuple(_name(kept[i][0], folder) for i in usable)
    hashes = np.stack([digests[i] for i in usable]) if wanted.digests else None
    return Samples(inputs, ids, labels if any(labels) else None, digests=hashes)


def fit_arrays(images: np.ndarray, wanted: Wanted, findings: Findings, classes: int = 1) -> np.ndarray | None:
    """Bring images of an array to the model's shape, by the rules of `load_image_folder`.

    Parameters
    ----------
    images : uint8 [N, C, H, W]
    wanted : Wanted
    findings : Findings
    classes : int
        That the images are of, where that is known.

    Returns
    -------
    uint8 [N, C', H', W'] or None
        None where they cannot be brought there.
    """
    shape = wanted.input_shape
    if shape is None or images.shape[1:] == shape:
        return images
    channels = _channels(wanted)
    if channels is None or images.shape[1] not in _MODES or 0 in images.shape[2:]:
        findings.problem(
            f"The images have shape {shape_text(images.shape[1:])}, and the model takes inputs of shape "
            f"{shape_text(shape)}: give data of that shape, or another model."
        )
        return None
    if images.shape[2:] != shape[1:] and not wanted.resize:
        _check_sizes(Counter({(images.shape[2], images.shape[3]): len(images)}), shape[1:], wanted, findings)
        return None
    wanted.require_room(len(images), classes)
    from PIL import Image

    def fitted(image: np.ndarray) -> np.ndarray:
        pixels = image[0] if len(image) == 1 else np.ascontiguousarray(image.transpose(1, 2, 0))
        return _to_array(Image.fromarray(pixels), channels, shape[1:])

    return np.stack([fitted(image) for image in images]) if len(images) else np.empty((0, *shape), np.uint8)


def _list(folder: Path, wanted: Wanted, findings: Findings) -> list[tuple[Path, str]]:
    """Images with their class, in the order of their names; the class of one directly in the folder is empty."""
    try:
        entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        direct = [path for path in entries if _is_image(path)]
        deep: list[Path] = []
        files = [(path, "") for path in direct]
        strangers = [path for path in entries if path.is_file() and not _is_image(path)]
        for kind in entries:
            if kind.is_dir():
                below = sorted(p for p in kind.rglob("*") if p.is_file() and not p.name.startswith("."))
                images = [path for path in below if _is_image(path)]
                files += [(path, kind.name) for path in images]
                deep += [path for path in images if path.parent != kind]
                strangers += [path for path in below if not _is_image(path)]
                if not images:
                    findings.remark(f"The folder of class {kind.name!r} holds no image.")
    except OSError as error:
        raise DataError(f"The folder {folder} cannot be read ({one_line(error)}): give its reader rights.") from error
    if direct and wanted.labelled:
        findings.problem(
            f"No class for {counted(len(direct), 'image')} ({few([p.name for p in direct])}): move each to a folder "
            "that is named after its class."
        )
        files = files[len(direct) :]
    if deep and wanted.labelled:
        inner = deep[0].relative_to(folder)
        findings.remark(
            f"{counted(len(deep), 'image')} in folders within a class, such as {_name(deep[0], folder)} in class "
            f"{_name(folder / inner.parts[0], folder)!r}: the folders directly in {folder} are the classes; is "
            f"{deep[0].parent.parent} meant?"
        )
    if strangers:
        names = few([_name(path, folder) for path in strangers])
        findings.remark(f"Ignored, as not named like an image: {counted(len(strangers), 'file')} ({names}).")
    if not files and not findings.problems:
        findings.problem(
            f"There is no image in {folder}: put images into one folder per class ({', '.join(SUFFIXES)})."
        )
    return files


def _check_sizes(
    sizes: Counter[tuple[int, int]], size: Sequence[int] | None, wanted: Wanted, findings: Findings
) -> None:
    others = [(count, other) for other, count in sizes.most_common() if other != size]
    if size is None or not others:
        return
    listed = few([f"{count} of {shape_text(other)}" for count, other in others])
    wrong, total = sum(count for count, _ in others), sum(sizes.values())
    ask = "size that the model takes" if wanted.input_shape is not None else "most common size"
    findings.problem(
        f"Not of {shape_text(size)} (height x width), the {ask}: {wrong} of {counted(total, 'image')}, {listed}; "
        "resize them, give --resize to have them resized to the model's size, or set input-shape in a run."
    )


def _require_usable(held: int, image: "Image") -> None:
    """Refuse what cannot be used before it is decoded; `held` are the bytes of the images before, which are copied."""
    if image.mode.startswith(("I", "F")):
        # Pillow would cut everything above 255 to white.
        raise MalformedError(f"{image.mode}: more than 8 bits a pixel, convert it to 8 bits")
    decoded = 2 * len(_MODES[3]) * image.width * image.height
    require_free(held + decoded, "it and the images before")


def _to_array(image: "Image", channels: int | None, size: Sequence[int] | None) -> np.ndarray:
    """uint8 [C, H, W]; without `channels`, one for a grey image and three for any other."""
    from PIL import Image

    image = image.convert(_MODES[channels or (1 if image.mode in _GREY else 3)])
    if size is not None and (image.height, image.width) != tuple(size):
        image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _stack(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """[N, C, H, W]; grey images among coloured ones are repeated in all three colours."""
    channels = max(len(array) for array in arrays)
    return np.stack([np.repeat(a, channels, axis=0) if len(a) < channels else a for a in arrays])


def _channels(wanted: Wanted) -> int | None:
    """Channels that the model asks for; None where it takes no images, or nothing is known."""
    shape = wanted.input_shape
    return shape[0] if shape is not None and len(shape) == 3 and shape[0] in _MODES else None


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def _name(path: Path, folder: Path) -> str:
    name = path.relative_to(folder).as_posix()
    return os.fsencode(name).decode("utf-8", "backslashreplace")
