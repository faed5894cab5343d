"""The files of a folder of images by class, without the leavings of Finder, Windows, Jupyter and archives."""

import os
from dataclasses import dataclass
from pathlib import Path

from pfedgp_core.data.own.layout import FOLDER
from pfedgp_core.data.own.samples import Findings, Wanted
from pfedgp_core.errors import DataError
from pfedgp_core.files.dicom import is_dicom
from pfedgp_core.files.image import SUFFIXES
from pfedgp_core.files.nifti import is_nifti
from pfedgp_core.files.regular import one_line
from pfedgp_core.words import counted, few

__all__ = ["ImageFile", "has_images", "is_leaving", "list_images", "name_below"]

# Folders that systems leave among a person's own, beside all whose name begins with a dot.
_LEAVINGS = ("__macosx", "@eadir", "$recycle.bin", "system volume information", "lost+found")


@dataclass(frozen=True)
class ImageFile:
    """A file that is named like an image.

    Attributes
    ----------
    path : Path
    label : str
        Its class; empty for one directly in the folder.
    folder : str
        The folder of its class's folder in which it lies; empty for one directly in that.
    """

    path: Path
    label: str = ""
    folder: str = ""


def has_images(folder: Path) -> bool:
    """Whether a file directly in the folder has the name of an image."""
    return any(_is_image(path) for path in folder.iterdir())


def is_leaving(name: str) -> bool:
    """Whether a file or folder is hidden, or left by a system: it is no sample and no class."""
    return name.startswith(".") or name.lower() in _LEAVINGS


def list_images(folder: Path, wanted: Wanted, findings: Findings) -> list[ImageFile]:
    """Images with their class, in the order of their names; what is strange is noted.

    Raises
    ------
    DataError
        The folder cannot be read.
    """
    try:
        entries = sorted(path for path in folder.iterdir() if not is_leaving(path.name))
        files = [ImageFile(path) for path in entries if _is_image(path)]
        strangers = [path for path in entries if path.is_file() and not _is_image(path)]
        below: list[ImageFile] = []
        for kind in entries:
            if kind.is_dir():
                found = _below(kind)
                images = [ImageFile(path, kind.name, _folder(path, kind)) for path in found if _is_image(path)]
                below += images
                strangers += [path for path in found if not _is_image(path)]
                if not images:
                    findings.remark(f"The folder of class {kind.name!r} holds no image.")
    except OSError as error:
        raise DataError(f"The folder {folder} cannot be read ({one_line(error)}): give its reader rights.") from error
    if files and wanted.labelled:
        findings.problem(
            f"No class for {counted(len(files), 'image')} ({few([file.path.name for file in files])}): move each to a "
            "folder that is named after its class."
        )
        files = []
    files += below
    if wanted.labelled and wanted.layout.group_column != FOLDER:
        _note_deep(folder, [file.path for file in below if file.folder], findings)
    if strangers:
        names = few([name_below(path, folder) for path in strangers])
        findings.remark(f"Ignored, as not named like an image: {counted(len(strangers), 'file')} ({names}).")
    if not files and not findings.problems:
        findings.problem(
            f"There is no image in {folder}: put images into one folder per class ({', '.join(SUFFIXES)}, DICOM or "
            "NIfTI)."
        )
    return files


def name_below(path: Path, folder: Path) -> str:
    """The name of a file below a folder, as text."""
    name = path.relative_to(folder).as_posix()
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _below(kind: Path) -> list[Path]:
    """All files below a class's folder, those in leavings left out."""
    return sorted(p for p in kind.rglob("*") if p.is_file() and not any(map(is_leaving, p.relative_to(kind).parts)))


def _folder(path: Path, kind: Path) -> str:
    parts = path.relative_to(kind).parts
    return parts[0] if len(parts) > 1 else ""


def _note_deep(folder: Path, deep: list[Path], findings: Findings) -> None:
    if not deep:
        return
    inner = deep[0].relative_to(folder)
    findings.remark(
        f"{counted(len(deep), 'image')} in folders within a class, such as {name_below(deep[0], folder)} in class "
        f"{name_below(folder / inner.parts[0], folder)!r}: the folders directly in {folder} are the classes; is "
        f"{deep[0].parent.parent} meant? If each folder in a class is a patient, give --group-column {FOLDER}."
    )


def _is_image(path: Path) -> bool:
    """By its name or, as DICOM files of scanners often have no ending, by its first bytes."""
    if path.name.startswith(".") or not path.is_file():
        return False
    return path.suffix.lower() in SUFFIXES or is_nifti(path) or is_dicom(path)
