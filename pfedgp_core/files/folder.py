"""A folder that appears, or is replaced, whole: a crash or a full disk leaves the former folder as it was."""

import os
import shutil
from collections.abc import Mapping
from glob import escape
from pathlib import Path

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.private import as_private, private_folder, tighten
from pfedgp_core.files.whole import folder_to_disk, resolved, to_disk

__all__ = ["former_folder", "is_interrupted", "recover_folder", "remove_leftovers", "write_folder"]


def write_folder(path: Path, files: Mapping[str, bytes], replace: bool = False) -> None:
    """Make a folder with these files, which only its owner can read.

    The folder is built under another name beside its place and then renamed. A folder that is replaced keeps the files
    that it has beside those of `files`.

    Parameters
    ----------
    path : Path
    files : mapping of file name to content
    replace : bool
        Whether a folder that is there is replaced; otherwise it must be empty or missing.

    Raises
    ------
    ArtefactError
        The folder exists, or cannot be written; what was there is still there.
    """
    path = resolved(path)  # a link stays a link
    former, draft = former_folder(path), path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _refuse(path, replace)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(draft, ignore_errors=True)
        if path.is_dir():
            private_folder(path, files)
        with as_private():
            draft.mkdir()
            if path.is_dir():
                shutil.copytree(path, draft, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*files))
                draft.chmod(0o700)
                tighten(draft)
            for name, content in files.items():
                with (draft / name).open("wb") as file:
                    file.write(content)
                    to_disk(file)
        _swap(draft, path, former)
    except (OSError, shutil.Error) as error:
        raise _cannot(path, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    shutil.rmtree(former, ignore_errors=True)


def is_interrupted(path: Path) -> bool:
    """Whether a replacement of the folder is, or has ended, between its two renames."""
    path = resolved(path)
    return not path.exists() and former_folder(path).is_dir()


def recover_folder(path: Path) -> None:
    """Bring back the former folder where a power failure hit between the two renames of a replacement.

    Nobody may be replacing it meanwhile: a living replacement would fail.
    """
    path = resolved(path)
    if is_interrupted(path):
        try:
            os.rename(former_folder(path), path)
        except OSError as error:
            raise _cannot(path, error) from error


def remove_leftovers(path: Path) -> bool:
    """Remove what killed replacements of a folder have left beside it; nobody may be replacing it meanwhile.

    Returns
    -------
    bool
        Whether there was something.

    Raises
    ------
    ArtefactError
        Something cannot be removed.
    """
    path = resolved(path)
    recover_folder(path)
    drafts = [other for other in path.parent.glob(f".{escape(path.name)}.*") if other.suffix[1:].isdecimal()]
    found = [other for other in (former_folder(path), *drafts) if other.is_dir()]
    for other in found:
        try:
            shutil.rmtree(other)
        except OSError as error:
            raise _cannot(other, error) from error
    return bool(found)


def _swap(draft: Path, path: Path, former: Path) -> None:
    if not path.is_dir() or not any(path.iterdir()):
        os.replace(draft, path)
    else:
        shutil.rmtree(former, ignore_errors=True)
        os.rename(path, former)
        try:
            os.rename(draft, path)
        except BaseException:
            os.rename(former, path)
            raise
    folder_to_disk(path.parent)


def _refuse(path: Path, replace: bool) -> None:
    if path.exists() and not path.is_dir():
        raise ArtefactError(f"{path} is a file: give the path of a folder that does not exist yet.")
    if not replace and path.is_dir() and any(path.iterdir()):
        raise ArtefactError(f"The folder {path} is not empty: give one that does not exist yet.")


def former_folder(path: Path) -> Path:
    """Where the former folder lies while, and after, the one at `path` replaces it."""
    return path.with_name(f".{path.name}.former")


def _cannot(path: Path, error: Exception) -> ArtefactError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return ArtefactError(f"Cannot write {path} ({reason}): make room and rights there, or choose another folder.")
