"""Faults of folders of images by class: other formats, depths, sizes, damages, leavings, names of folders."""

import io
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

__all__ = ["CLASSES", "FAULTS", "SIZE", "STORING", "Picture", "Shelf", "stored"]

CLASSES = ("healthy", "pneumonia")
SIZE = 12  # height and width


@dataclass
class Picture:
    """An image and how it is stored.

    Attributes
    ----------
    pixels : numpy.ndarray, uint8 [H, W]
        What it shows.
    stored : bytes
        The file.
    label, patient, name : str
        Folders, and the name of the file.
    kind : int
        Its class.
    person : str
        Whose it is.
    """

    pixels: np.ndarray
    stored: bytes
    label: str
    patient: str
    name: str
    kind: int
    person: str


@dataclass
class Shelf:
    """A folder before it is written: images, and other files by their path."""

    pictures: list[Picture]
    others: dict[str, bytes] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write all files."""
        for picture in self.pictures:
            file = folder / picture.label / picture.patient / picture.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(picture.stored)
        for name, content in self.others.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


Fault = Callable[[random.Random, Shelf], None]


def _stored(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def stored(pixels: np.ndarray) -> bytes:
    """A file of an image as it should be."""
    return _stored(Image.fromarray(pixels))


def _some(rng: random.Random, shelf: Shelf) -> list[Picture]:
    return rng.sample(shelf.pictures, rng.choice([1, 3, len(shelf.pictures)]))


def _form(rng: random.Random, shelf: Shelf) -> None:
    """Another format without a loss, sometimes under the name of PNG."""
    form, suffix, options = rng.choice(
        [
            ("BMP", "bmp", {}),
            ("TIFF", "tif", {"compression": "tiff_lzw"}),
            ("TIFF", "tiff", {"big_tiff": True}),
            ("WEBP", "webp", {"lossless": True}),
            ("PPM", "pgm", {}),
            ("GIF", "gif", {}),
            ("PNG", "PNG", {"optimize": True}),
            ("PNG", "jpg", {}),
            ("TIFF", "dcm", {}),
        ]
    )
    for picture in _some(rng, shelf):
        picture.stored = _stored(Image.fromarray(picture.pixels), form, **options)
        if rng.random() < 0.8:
            picture.name = f"{picture.name.partition('.')[0]}.{suffix}"
    shelf.told.append("WebP" if form == "WEBP" else "ot named like an image")


def _colour(rng: random.Random, shelf: Shelf) -> None:
    """Grey stored as colour, with a palette, for print, or with transparency."""
    mode = rng.choice(["RGB", "P", "RGBA", "LA", "CMYK", "YCbCr", "PA"])
    for picture in _some(rng, shelf):
        image = Image.fromarray(picture.pixels)
        if mode in ("RGBA", "LA", "PA"):
            image = image.convert("LA")
            image.putalpha(Image.fromarray(np.uint8(rng.choice([0, 128, 255])) * np.ones_like(picture.pixels)))
            picture.stored = _stored(image if mode == "LA" else image.convert("RGBA"))
        elif mode in ("CMYK", "YCbCr"):
            picture.stored = _stored(image.convert("RGB").convert(mode), "TIFF")
            picture.name = f"{picture.name.partition('.')[0]}.tif"
        else:
            picture.stored = _stored(image.convert(mode))


def _jpeg(rng: random.Random, shelf: Shelf) -> None:
    mode = rng.choice(["L", "RGB", "CMYK"])
    for picture in _some(rng, shelf):
        image = Image.fromarray(picture.pixels).convert("RGB").convert(mode)
        picture.stored = _stored(image, "JPEG", quality=98)
        picture.name = f"{picture.name.partition('.')[0]}.jpg"


def _turned(rng: random.Random, shelf: Shelf) -> None:
    """Lying on its side, with the mark that says so, or without."""
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    for picture in _some(rng, shelf):
        lying = Image.fromarray(np.ascontiguousarray(np.rot90(picture.pixels)))
        picture.stored = _stored(lying, "PNG", exif=exif)


def _deep(rng: random.Random, shelf: Shelf) -> None:
    """More than 8 bits."""
    way = rng.randrange(5)
    for picture in _some(rng, shelf):
        values = picture.pixels.astype(np.uint16) * (257 if way < 3 else 16)
        if way == 2:
            picture.stored = _stored(Image.fromarray(picture.pixels.astype(np.float32) / 255), "TIFF")
        elif way == 4:
            picture.stored = _stored(Image.fromarray(values.astype(np.int32)), "TIFF")
        else:
            picture.stored = _stored(Image.fromarray(values), "PNG" if way == 0 else "TIFF")
        picture.name = f"{picture.name.partition('.')[0]}.{'png' if way == 0 else 'tif'}"


def _size(rng: random.Random, shelf: Shelf) -> None:
    size = rng.choice([(SIZE * 2, SIZE * 2), (SIZE, SIZE + 1), (1, 1)])
    for picture in _some(rng, shelf):
        picture.stored = _stored(Image.fromarray(picture.pixels).resize(size))


def _inverted(_: random.Random, shelf: Shelf) -> None:
    for picture in shelf.pictures:
        picture.stored = stored(255 - picture.pixels)
    shelf.told.append("inverted")


def _white_is_zero(rng: random.Random, shelf: Shelf) -> None:
    """TIFF whose zero is white, which shows the same image."""
    for picture in _some(rng, shelf):
        picture.stored = _stored(Image.fromarray(picture.pixels), "TIFF", tiffinfo={262: 0})  # Pillow turns the values
        picture.name = f"{picture.name.partition('.')[0]}.tif"


def _pages(rng: random.Random, shelf: Shelf) -> None:
    form, suffix = rng.choice([("TIFF", "tif"), ("GIF", "gif"), ("PNG", "png"), ("WEBP", "webp")])
    for picture in _some(rng, shelf):
        more = [Image.fromarray(np.rot90(picture.pixels).copy())]
        picture.stored = _stored(Image.fromarray(picture.pixels), form, save_all=True, append_images=more)
        picture.name = f"{picture.name.partition('.')[0]}.{suffix}"


def _damaged(rng: random.Random, shelf: Shelf) -> None:
    for picture in _some(rng, shelf):
        n = len(picture.stored)
        picture.stored = rng.choice([b"", picture.stored[: n // 2], picture.stored[: n - 4], b"<html>", b"\0" * n])


def _leavings(rng: random.Random, shelf: Shelf) -> None:
    copy = shelf.pictures[0].stored
    names = [
        "healthy/._1.png",
        "healthy/.ipynb_checkpoints/1-checkpoint.png",
        "__MACOSX/healthy/._1.png",
        "pneumonia/Thumbs.db",
        ".DS_Store",
        "healthy/desktop.ini",
        "@eaDir/x/1.png",
        "pneumonia/P1/@eaDir/1.png/SYNO.png",
        ".git/x.png",
    ]
    shelf.others |= dict.fromkeys(rng.sample(names, 3), copy)


def _strays(rng: random.Random, shelf: Shelf) -> None:
    """Files that belong to no class or patient, or a class that the model has not."""
    place = rng.choice(
        ["scan.png", "healthy/scan.png", "other/P1/scan.png", "healthy/P1/old/scan.png", "notes/read.txt"]
    )
    shelf.others[place] = shelf.pictures[0].stored
    shelf.told += ["scan.png", "notes", "Equal to another"]


def _classes(rng: random.Random, shelf: Shelf) -> None:
    way = rng.choice(
        [
            str.upper,
            str.title,
            lambda c: f"{c} ",
            lambda c: c[:-1],
            lambda c: f"{c}\u200b",
            lambda c: str(1 + CLASSES.index(c)),
        ]
    )
    for picture in _some(rng, shelf):
        picture.label = way(picture.label)


def _patients(rng: random.Random, shelf: Shelf) -> None:
    way = rng.choice([str.lower, lambda p: f"{p} ", lambda p: f"P0{p[1:]}", lambda p: p[1:], lambda p: f"P {p[1:]}"])
    for picture in rng.sample(shelf.pictures, 6):
        picture.patient = way(picture.patient)
    shelf.told.append("may be the same")


def _contradiction(rng: random.Random, shelf: Shelf) -> None:
    """A copy of an image in the folder of the other class, or of another patient."""
    one, other = rng.sample(shelf.pictures, 2)
    copy = Picture(one.pixels, one.stored, other.label, other.patient, f"copy-{one.name}", other.kind, other.person)
    shelf.pictures.append(copy)
    shelf.told += ["Equal inputs with different classes", "Equal to another one"]


# In the order in which they are made, where a folder has several.
FAULTS: dict[str, Fault] = {
    "inverted": _inverted,
    "form": _form,
    "colour": _colour,
    "JPEG": _jpeg,
    "turned": _turned,
    "white is zero": _white_is_zero,
    "more bits": _deep,
    "size": _size,
    "pages": _pages,
    "damaged": _damaged,
    "copies": _contradiction,
    "patients": _patients,
    "classes": _classes,
    "leavings": _leavings,
    "strays": _strays,
}
STORING = ("inverted", "form", "colour", "JPEG", "turned", "white is zero", "more bits", "size", "pages")
