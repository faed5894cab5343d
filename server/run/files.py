"""Writing the files of a run, so that a crash or a full disk leaves the former ones complete."""

import os
from pathlib import Path

from pfedgp_core.errors import DamagedStateError
from pfedgp_core.files import whole as whole_file
from pfedgp_core.files.regular import read_regular
from pfedgp_core.files.state import kept
from pfedgp_core.files.whole import CannotWriteError, explained, folder_to_disk, write_whole

__all__ = [
    "CARD_FILES",
    "EVALUATION_FILE",
    "ONBOARDED_FILE",
    "CannotWriteError",
    "append_line",
    "explained",
    "is_partial",
    "truncate_lines",
    "write_new",
    "write_whole",
]

CARD_FILES = ("model-card.md", "model-card.json")
ONBOARDED_FILE, EVALUATION_FILE = "onboarded.json", "evaluation.json"
LARGEST = 16 * 1024**3  # bytes of a file of lines


def write_new(path: Path, text: str) -> bool:
    """Create a file that must not exist yet; of two processes that try at once, one succeeds.

    Returns
    -------
    bool
        False where the file exists already; it is left as it is.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with explained(path):
        try:
            with partial.open("wb") as file:
                file.write(text.encode())
                whole_file.to_disk(file)
            try:
                os.link(partial, path)
            except FileExistsError:
                return False
            except OSError:  # a file system without links; there, the run's lock keeps a second process out
                if path.exists():
                    return False
                os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        folder_to_disk(path.parent)
    return True


def is_partial(name: str) -> bool:
    """Whether a file is an unfinished write of a killed process; its name says so, and its content is useless."""
    return name.startswith(".") and name.endswith(".partial")


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, on disk when this returns; a failure leaves no half line behind."""
    with explained(path), path.open("ab") as file:
        end = file.seek(0, os.SEEK_END)
        try:
            file.write(line.encode() + b"\n")
            whole_file.to_disk(file)
        except OSError:
            os.truncate(path, end)
            raise


def truncate_lines(path: Path, lines: int) -> list[str]:
    """Cut a file off after its first `lines` lines, on disk when this returns, and return them.

    Raises
    ------
    DamagedStateError
        The file has fewer whole lines, or cannot be read.
    ArtefactError
        It cannot be written.
    """
    with explained(path):
        with kept(path):
            content = read_regular(path, LARGEST) if path.exists() else b""
        whole = content.splitlines(keepends=True)[:lines]
        if len(whole) < lines or any(not line.endswith(b"\n") for line in whole):
            raise DamagedStateError(f"{path} has fewer than the {lines} lines that it had: restore it from a copy.")
        end = sum(map(len, whole))
        if end < len(content):
            with path.open("r+b") as file:
                file.truncate(end)
                whole_file.to_disk(file)
    return [line.decode("utf-8", "replace") for line in whole]
