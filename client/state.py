"""A client's own state, such as personal layers: kept at the site, a file for each round that made one.

A state is written under its round before the reply leaves, and becomes the client's state when a later request names
that round as accepted. So a killed server, site or worker resumes to the same bits: what a request names follows from
the server's checkpoint, and a state of that round is there. A round that the server refused, or that a killed server
forgot, is never named, and its state is dropped.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from flwr.app import Array, ArrayRecord, Context

from pfedgp_core.errors import DamagedStateError, MissingFileError, UnreadableFileError
from pfedgp_core.files.private import as_private
from pfedgp_core.files.regular import read_regular
from pfedgp_core.files.whole import explained, write_whole

__all__ = ["KEPT_FOLDER", "ClientStates", "client_states"]

logger = logging.getLogger("pfedgp.client")

KEPT_FOLDER = "PFEDGP_KEPT"  # a simulation's folder for the states of its clients
LARGEST = 16 * 1024**3  # bytes of a state
SEAL = 32  # bytes of the hash before a state's values
RECENT = 4  # accepted states that stay, beside that of the best model


class _Store(Protocol):
    """Arrays by round."""

    def rounds(self) -> list[int]: ...

    def read(self, round: int) -> np.ndarray | None: ...

    def write(self, round: int, vector: np.ndarray) -> None: ...

    def drop(self, round: int) -> None: ...


class ClientStates:
    """The states of one client in one run.

    Parameters
    ----------
    store : folder or Flower context
    client : str
        Name for the log.
    """

    def __init__(self, store: _Store, client: str) -> None:
        self._store, self._client = store, client
        self.lost = False

    def current(self, accepted: int) -> np.ndarray | None:
        """The state that round `accepted` left, float32; None before the first, and where the method keeps none.

        Where it is gone, `lost` is set and the client begins anew, which the site's log says.
        """
        if accepted < 1:
            return None
        vector = self._store.read(accepted)
        self.lost = vector is None
        if vector is None:
            logger.warning(
                "%s: its own state of round %d is gone, so it begins with the initial one: keep the state folder "
                "of the site between restarts",
                self._client,
                accepted,
            )
            return None
        return vector if len(vector) else None

    def settle(self, accepted: int, best: int, round: int) -> None:
        """Drop what is no longer needed: states of refused rounds, and all but the newest and that of the best model.

        Parameters
        ----------
        accepted : int
            The last round before `round` that the server accepted from this client.
        best : int
            Round of the best model so far.
        round : int
            Of the request. It knows nothing of later rounds, which a late request may find done already.
        """
        rounds = sorted(self._store.rounds())
        kept = [r for r in rounds if r <= accepted]
        needed = set(kept[-RECENT:]) | set([r for r in kept if r <= best][-1:])
        for r in rounds:
            if r < round and r not in needed:
                self._store.drop(r)

    def put(self, round: int, vector: np.ndarray | None) -> None:
        """Keep the state that `round` leaves, on disk when this returns; None is remembered too.

        Raises
        ------
        ArtefactError
            It cannot be written, so the update must not be sent.
        """
        self._store.write(round, np.zeros(0, np.float32) if vector is None else np.asarray(vector, np.float32))


def client_states(context: Context, run: str, client: str) -> ClientStates:
    """The states of a client of this node: in the site's state folder, in a simulation's folder, or with Flower.

    Without a folder, Flower's context holds them as long as its engine runs.
    """
    folder = _folder(context.node_config)
    if folder is None:
        return ClientStates(_ContextStore(context, run), client)
    return ClientStates(_FolderStore(folder, run, client), client)


def _folder(node_config: Mapping[str, Any]) -> Path | None:
    if state := str(node_config.get("state", "")).strip():
        return Path(state).expanduser() / "kept"
    if folder := os.environ.get(KEPT_FOLDER, ""):
        return Path(folder)
    return None


def _digest(name: str) -> str:
    """A file name for any text that another machine sent."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class _FolderStore:
    """A file ``ROUND.state`` for each state: a hash of whose state it is and of its values, then the values."""

    def __init__(self, root: Path, run: str, client: str) -> None:
        self._root, self._folder = root, root / _digest(run) / _digest(client)
        self._owner = json.dumps([run, client]).encode()

    def rounds(self) -> list[int]:
        return [int(file.stem) for file in self._folder.glob("*.state") if file.stem.isdecimal()]

    def read(self, round: int) -> np.ndarray | None:
        file = self._file(round)
        try:
            content = read_regular(file, LARGEST)
        except MissingFileError:
            return None
        except UnreadableFileError as error:
            raise DamagedStateError(
                f"Cannot read {file} ({error.reason}): give this user the right to read it."
            ) from error
        seal, values = content[:SEAL], content[SEAL:]
        if len(values) % 4 or seal != self._seal(round, values):
            raise DamagedStateError(
                f"{file} is damaged, or is the state of another client or round: restore it from a copy, or remove it "
                "to begin anew."
            )
        return np.frombuffer(values, "<f4").astype(np.float32)

    def write(self, round: int, vector: np.ndarray) -> None:
        values = vector.astype("<f4").tobytes()
        with as_private():  # the content is a function of private data
            with explained(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._root.chmod(0o700)
            write_whole(self._file(round), self._seal(round, values) + values)

    def drop(self, round: int) -> None:
        with explained(self._folder):
            self._file(round).unlink(missing_ok=True)

    def _seal(self, round: int, values: bytes) -> bytes:
        return hashlib.sha256(self._owner + round.to_bytes(8, "big") + values).digest()

    def _file(self, round: int) -> Path:
        return self._folder / f"{round}.state"


class _ContextStore:
    """A record of Flower's context for each state."""

    def __init__(self, context: Context, run: str) -> None:
        self._records, self._prefix = context.state.array_records, f"kept.{_digest(run)}."

    def rounds(self) -> list[int]:
        return [int(key.removeprefix(self._prefix)) for key in self._records if key.startswith(self._prefix)]

    def read(self, round: int) -> np.ndarray | None:
        record = self._records.get(f"{self._prefix}{round}")
        return None if record is None else record["kept"].numpy()

    def write(self, round: int, vector: np.ndarray) -> None:
        self._records[f"{self._prefix}{round}"] = ArrayRecord({"kept": Array(vector)})

    def drop(self, round: int) -> None:
        del self._records[f"{self._prefix}{round}"]
