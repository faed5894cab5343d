"""Flower's database on disk: it appears complete, and a damaged one is recognised by the SuperLink's error."""

import os
import re
import sqlite3
import sys
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from pfedgp.operator.supervisor import Program, ServerSupervisor
from pfedgp_core.errors import RunFailedError
from pfedgp_core.files.whole import explained, folder_to_disk
from pfedgp_core.patch import Patch, lacks

__all__ = ["GRACE", "WholeDatabase", "damage", "make_database"]

GRACE = 0.5  # seconds; a service manager that stops the server signals its processes in any order
NOT_HERE = 3  # the exit code that says that this Flower has no such code
_BESIDE = ("-journal", "-wal", "-shm")  # what SQLite keeps beside a database
_DAMAGED = re.compile(
    r"(?:table|index) \S+ already exists|duplicate column name: \S+|no such (?:table|column): \S+"
    r"|file is not a database|database disk image is malformed|malformed database schema"
    r"|its schema does not match the baseline"
)


def make_database(
    path: Path, supervisor: ServerSupervisor, environment: Mapping[str, str], seconds: float, stopped: threading.Event
) -> None:
    """Make Flower's database where there is none.

    Flower's own migrations, some dozens of transactions, leave a file that no SuperLink can use when they are
    interrupted. So they run in a process of their own, on a file that gets its name when it is finished. A Flower
    without that code makes the database itself when its SuperLink starts.

    Parameters
    ----------
    path : Path
    supervisor : ServerSupervisor
        Runs the process.
    environment : mapping
        Of that process.
    seconds : float
        The longest time that it may take.
    stopped : Event
        Once set, the process is ended and there is no database.

    Raises
    ------
    PFedGPError
        The database cannot be made; the text says why.
    """
    if path.exists() and path.stat().st_size:
        return
    new = path.with_name(path.name + ".new")
    command = (sys.executable, "-P", "-m", "pfedgp.operator.database", str(new))
    program = Program("database", command, environment, path.parent)
    with explained(path):
        _remove(new)
        try:
            code = supervisor.finish(program, seconds, stopped)
            if code is None or code == NOT_HERE:
                return
            if code < 0 and stopped.wait(GRACE):
                return
            if code or not new.exists():
                raise _cannot(path, supervisor.reason(program))
            try:
                _close(new)
            except sqlite3.Error as error:
                raise _cannot(path, f"{error}.") from error
            _remove(path)  # SQLite would take what is left of a former database for a part of this one
            os.replace(new, path)
            folder_to_disk(path.parent)
        finally:
            _remove(new)


def damage(output: str) -> str:
    """The words by which a SuperLink that ended called its database half-made or unreadable; empty without such words.

    A database that is locked, or that the disk has no room for, is not damaged.
    """
    found = _DAMAGED.search(output)
    return found[0] if found else ""


def _cannot(path: Path, reason: str) -> RunFailedError:
    return RunFailedError(
        f"Cannot make the database {path}; make room and rights there, or give another --state: {reason}"
    )


def _close(path: Path) -> None:
    """Bring everything into the one file, and the file to the disk."""
    with closing(sqlite3.connect(path)) as connection:
        # The SuperLink chooses its own mode again. This one has no second file that belongs to the first.
        mode = connection.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
        if mode != "delete":
            raise sqlite3.OperationalError(f"another process uses {path}")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    for end in ("", *_BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)


class WholeDatabase(Patch):
    """Makes the schema by the code by which the SuperLink makes it, before that starts.

    Parameters
    ----------
    path : str, optional
        Of the new database; needed to apply the patch.
    """

    name: ClassVar = "whole-database"
    purpose: ClassVar = "a server that is killed during its first start leaves no half-made database"

    def __init__(self, path: str = "") -> None:
        self._path = path

    def missing(self) -> str:
        """What of Flower's object store is gone."""
        return lacks("flwr.supercore.object_store", "ObjectStoreFactory.store")

    def apply(self) -> None:
        """Make the database."""
        from flwr.supercore.object_store import ObjectStoreFactory

        ObjectStoreFactory(self._path).store()


def _migrate(path: str) -> int:
    patch = WholeDatabase(path)
    if patch.missing():
        return NOT_HERE
    try:
        patch.apply()
    except TypeError:  # it is called in another way
        return NOT_HERE
    return 0


if __name__ == "__main__":
    sys.exit(_migrate(sys.argv[1]))
