"""The server's state folder: the running server, its addresses, and the places of all files.

``server.json``
    Process, addresses, certificates and versions of the server that runs, or ran last.
``lock``
    Held by the server while it runs.
``superlink.db``, ``superexec.secret``
    Flower's database of sites and runs; what its two processes know each other by.
``objects/``, ``messages/``
    Objects under way between the server app and the sites: large ones, and with a database the others, each for as long
    as somebody wants it.
``flwr/``
    Flower's own configuration, with the connection ``pfedgp`` to this server.
``logs/``, ``runs/``
    What the processes print; the folders of the runs.
"""

import json
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pfedgp_core.checks import integer, text
from pfedgp_core.errors import ConfigError, DamagedStateError, MissingFileError, RunFailedError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.lock import FileLock, holder, is_locked
from pfedgp_core.files.private import private_folder, tighten
from pfedgp_core.files.regular import one_line
from server.run.files import explained, write_whole

__all__ = ["CONNECTION", "ServerState", "default_state", "is_network_file_system"]

CONNECTION = "pfedgp"
_TEXTS = {"fleet_address", "control_address", "control_listens", "certs", "ca", "started"}
_TABLES = {"processes", "versions"}
_OURS = ("lock", "server.json", "superlink.db", "superexec.secret", "objects", "messages", "flwr", "logs", "runs")
_NETWORK = ("nfs", "cifs", "smb", "ceph", "lustre", "gpfs", "glusterfs", "sshfs", "9p", "afs", "beegfs")


def default_state() -> Path:
    """The state folder of a user who names none."""
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "pfedgp" / "server"


@dataclass(frozen=True)
class ServerState:
    """The names in a state folder.

    Parameters
    ----------
    path : Path
        Absolute.
    """

    path: Path

    @property
    def database(self) -> Path:
        """Flower's database."""
        return self.path / "superlink.db"

    @property
    def secret(self) -> Path:
        """The secret of SuperLink and SuperExec."""
        return self.path / "superexec.secret"

    @property
    def objects(self) -> Path:
        """Large objects under way."""
        return self.path / "objects"

    @property
    def flwr(self) -> Path:
        """Flower's home for its command line."""
        return self.path / "flwr"

    @property
    def logs(self) -> Path:
        """Logs of the processes."""
        return self.path / "logs"

    @property
    def runs(self) -> Path:
        """Folders of the runs."""
        return self.path / "runs"

    def prepare(self) -> Self:
        """Make the folders where they are missing, keep others from reading them, and return this object.

        Raises
        ------
        ArtefactError
            The folder cannot be written, or is open to others and holds something else.
        """
        private_folder(self.path, _OURS)
        with explained(self.path):
            for folder in (self.flwr, self.logs, self.runs):
                folder.mkdir(exist_ok=True)
            # Flower makes it in processes whose files others may share, as they write the folders of the runs.
            (self.flwr / "apps").mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600), "w"):
                pass  # whether files can be made here
        tighten(self.path, ("flwr", "logs"))
        return self

    def make_secret(self) -> None:
        """Make the secret where it is missing."""
        if self.secret.exists():
            return
        partial = self.path / f".secret-{os.getpid()}"
        with explained(self.secret):
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(secrets.token_bytes(32))
            os.replace(partial, self.secret)

    @contextmanager
    def locked(self, name: str = "lock") -> Iterator[None]:
        """Be the only server on this folder; `name` is the lock's file.

        Raises
        ------
        RunFailedError
            Another one is running.
        """

        def refused(who: str) -> RunFailedError:
            return RunFailedError(
                f"A server runs on {self.path} already ({who}): stop it with pfedgp stop --server --state {self.path}, "
                "or give this one another --state."
            )

        with explained(self.path), FileLock(self.path / name, refused):
            yield

    def running(self) -> int | None:
        """Return the process id of the server that runs on this folder, 0 if it is not known, or None."""
        path = self.path / "lock"
        return holder(path) if is_locked(path) else None

    def write_server(self, record: Mapping[str, Any]) -> None:
        """Write ``server.json``, and the connection for Flower's own command line."""
        write_whole(self.path / "server.json", json.dumps(dict(record), indent=2) + "\n")
        write_whole(
            self.flwr / "config.toml",
            f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
            f"address = {json.dumps(record['control_address'])}\nroot-certificates = {json.dumps(record['ca'])}\n",
        )

    def has_server(self) -> bool:
        """Whether a server has run on this folder."""
        return (self.path / "server.json").is_file()

    def server(self) -> dict[str, Any]:
        """Read ``server.json``.

        Raises
        ------
        ConfigError
            No server has run on this folder.
        DamagedStateError
            The file is damaged.
        """
        try:
            return _checked(read_object(self.path / "server.json"))
        except MissingFileError as error:
            raise ConfigError(
                f"No server has run on {self.path}: start one with pfedgp server and wait for its first line, or name "
                "its folder with --state."
            ) from error
        except (UnreadableFileError, TypeError, ValueError) as error:
            raise DamagedStateError(
                f"{self.path / 'server.json'} is damaged ({one_line(error)}): restart the server."
            ) from error

    def start_command(self) -> str:
        """Return the command that starts the server as it ran last."""
        record = self.server()
        words = ["pfedgp", "server", "--state", str(self.path), "--certs", str(record.get("certs", "CERTS"))]
        for option, keys in (
            ("--fleet-address", ("fleet_address",)),
            ("--control-address", ("control_listens", "control_address")),
            ("--max-connections", ("connections",)),
        ):
            words += next(([option, str(record[key])] for key in keys if key in record), [])
        words += ["--no-database"] if record.get("database") is False else []
        words += ["--only", "superlink"] if record.get("superexec") is False else []
        return shlex.join(words)


def _checked(record: dict[str, Any]) -> dict[str, Any]:
    """The record itself; TypeError or ValueError where a field that commands go by is not what was written."""
    for key in _TEXTS & record.keys():
        text(record[key])
    for key in _TABLES & record.keys():
        if not isinstance(record[key], dict):
            raise TypeError(f"field {key!r} is no object")
    for number in record.get("processes", {}).values():
        integer(number)
    if "started" in record:
        datetime.fromisoformat(record["started"])
    return record


def is_network_file_system(path: Path) -> str:
    """Return the kind of network file system that a folder lies on; empty on a local disk."""
    import psutil  # for the few commands that ask

    best = kind = ""
    try:
        mounts = psutil.disk_partitions(all=True)
    except (psutil.Error, OSError):
        return ""
    for mount in mounts:
        if path.is_relative_to(mount.mountpoint) and len(mount.mountpoint) > len(best):
            best, kind = mount.mountpoint, mount.fstype
    return kind if any(mark in kind for mark in _NETWORK) else ""
