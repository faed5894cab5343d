"""Checkpoints: everything that a run needs to go on after any round, in one file that is complete or absent.

``RUN/checkpoints/round-000007.safetensors`` holds the vector after round 7 (``current``), the best one where that is
another (``best``), and the rest as JSON in the header, with a checksum over everything. The last three are kept.
Nothing in it comes from a client's data beyond what its greeting and its metric sums say.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.checks import MALFORMED, count, finite, not_negative, text
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import (
    ArtefactError,
    DamagedStateError,
    NonFiniteError,
    PFedGPError,
    UnreadableFileError,
)
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError, one_line
from pfedgp_core.files.state import kept
from pfedgp_core.files.tensors import LONGEST_HEADER, bits_of, packed_tensors, read_tensors, same_bits
from pfedgp_core.metrics.best_choice import Measured
from server.run.files import explained, is_partial, write_whole
from server.run.record_lines import check_record
from server.run.run_config import check_origin

__all__ = [
    "CHECKPOINTS",
    "Checkpoint",
    "Model",
    "checkpoint_name",
    "newest_checkpoint",
    "sweep_partial",
    "whole_checkpoints",
    "write_checkpoint",
]

CHECKPOINTS = "checkpoints"
SCHEMA, KEPT = 2, 3
_NAME = re.compile(r"round-([0-9]{6,12})\.safetensors")
_log = logging.getLogger("pfedgp")


@dataclass
class Model:
    """A shared vector, the round that made it, and where it was measured its metrics on the validation data.

    Attributes
    ----------
    vector : float32 [P]
    round : int
    metrics : mapping
        Of the pooled data.
    clients : mapping of str to Measured
        Of each client, by its name; a checkpoint keeps those of the best model, with which later ones are compared.
    """

    vector: np.ndarray
    round: int = 0
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    clients: Mapping[str, Measured] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """All but the vector and the clients."""
        return {"round": self.round, "metrics": dict(self.metrics)}


@dataclass
class Checkpoint:
    """The state of a run after a round.

    Attributes
    ----------
    round : int
        Rounds that are done; 0 before the first.
    settings : Settings
    spec : DataSpec
    roster : dict
        The clients, as ``Roster.to_state`` returns them.
    current : Model
    best : Model or None
        None before the first evaluation.
    failed_rounds : list of dict
        Rounds with too few replies in a row, up to now: client name -> reason.
    lines : int
        Of ``metrics.jsonl``.
    pending : dict or None
        The record of the last round, where it still lacks its evaluation.
    run : dict
        Origin of the run, as in ``summary.json``.
    seconds : float
        That the run has taken so far.
    average : float32 [P] or None
        The running average of the models, where the run keeps one.
    """

    round: int
    settings: Settings
    spec: DataSpec
    roster: dict[str, Any]
    current: Model
    best: Model | None = None
    failed_rounds: list[dict[str, str]] = field(default_factory=list)
    lines: int = 0
    pending: dict[str, Any] | None = None
    run: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    average: np.ndarray | None = None


def write_checkpoint(run: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint into the folder of a run, on disk when this returns, and remove all but the last three.

    Raises
    ------
    ArtefactError
        It cannot be written, or its header would be too long to be read; the former ones are whole.
    NonFiniteError
        It holds NaN or infinity.
    """
    tensors, best = {"current": checkpoint.current.vector}, checkpoint.best
    if best is not None and not same_bits(best.vector, checkpoint.current.vector):
        tensors["best"] = best.vector
    if checkpoint.average is not None:
        tensors["average"] = checkpoint.average
    if not all(np.isfinite(vector).all() for vector in tensors.values()):
        raise NonFiniteError(f"The model of round {checkpoint.round} holds NaN or infinity, so it is not kept.")
    header = {
        "schema": SCHEMA,
        "round": checkpoint.round,
        "settings": checkpoint.settings.to_run_config(),
        "spec": checkpoint.spec.to_json(),
        "roster": checkpoint.roster,
        "current": checkpoint.current.describe(),
        "best": None if best is None else best.describe(),
        "best_clients": {} if best is None else {name: list(astuple(of)) for name, of in best.clients.items()},
        "failed_rounds": checkpoint.failed_rounds,
        "lines": checkpoint.lines,
        "pending": checkpoint.pending,
        "run": checkpoint.run,
        "seconds": checkpoint.seconds,
    }
    text = json.dumps(header, allow_nan=False)
    folder = run / CHECKPOINTS
    with explained(folder):
        folder.mkdir(exist_ok=True)
    metadata = {"checkpoint": text, "sha256": _checksum(text, tensors)}
    content = packed_tensors(tensors, metadata, f"The checkpoint of round {checkpoint.round}")
    write_whole(folder / checkpoint_name(checkpoint.round), content)
    for old in _checkpoints(folder)[KEPT:]:
        with explained(old):
            old.unlink(missing_ok=True)


def newest_checkpoint(run: Path) -> Checkpoint | None:
    """Read the newest whole checkpoint of a run; None where the run has written none.

    Raises
    ------
    DamagedStateError
        None of them is whole.
    ArtefactError
        One is of a newer version of pFedGP.
    """
    damaged: list[str] = []
    for path in _checkpoints(run / CHECKPOINTS):
        try:
            checkpoint = _read(path)
        except _DamagedError as error:
            damaged.append(f"{path.name}: {error}")
            continue
        if damaged:
            _log.warning(
                "damaged checkpoints are left out (%s): the run goes on from round %d",
                *("; ".join(damaged), checkpoint.round),
            )
        return checkpoint
    if damaged:
        raise DamagedStateError(
            f"No checkpoint in {run / CHECKPOINTS} is whole ({'; '.join(damaged)}): restore them from a copy, or start "
            "a new run."
        )
    return None


def sweep_partial(run: Path) -> None:
    """Remove what killed processes left half written in the folder of a run."""
    for folder in (run, run / CHECKPOINTS, run / "best", run / "final"):
        for path in folder.iterdir() if folder.is_dir() else ():
            if is_partial(path.name) and path.is_file():
                path.unlink(missing_ok=True)


def checkpoint_name(round: int) -> str:
    """The file of the checkpoint after a round."""
    return f"round-{round:06d}.safetensors"


def whole_checkpoints(folder: Path) -> Iterator[Checkpoint]:
    """The checkpoints in a folder that can be read, newest first."""
    for path in _checkpoints(folder):
        with suppress(_DamagedError):
            yield _read(path)


class _DamagedError(Exception):
    """A checkpoint that is not what was written."""


def _checkpoints(folder: Path) -> list[Path]:
    """Newest first."""
    with kept(folder):
        if not folder.is_dir():
            return []
        numbered = [(int(match[1]), path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        return [path for _, path in sorted(numbered, reverse=True)]


def _read(path: Path) -> Checkpoint:
    try:
        tensors, metadata = read_tensors(path)
        written = metadata.get("checkpoint", "")
        header = parse_object(written, LONGEST_HEADER)
        schema = count(header.get("schema"))
    except (UnreadableFileError, *MALFORMED) as error:
        raise _DamagedError(one_line(error)) from error
    if schema > SCHEMA:
        raise ArtefactError(
            f"The checkpoint {path} has schema version {schema}, and this version of pFedGP reads up to {SCHEMA}: "
            "update pFedGP."
        )
    if metadata.get("sha256") != _checksum(written, tensors):
        raise _DamagedError("its checksum differs")
    try:
        return _from_parts(header, tensors)
    except (PFedGPError, *MALFORMED) as error:
        raise _DamagedError(f"{type(error).__name__}: {one_line(error)}") from error


def _from_parts(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Checkpoint:
    for vector in tensors.values():
        if vector.dtype != np.float32 or vector.ndim != 1 or not np.isfinite(vector).all():
            raise ValueError("a vector that is not finite float32")
    current, best = tensors["current"], tensors.get("best", tensors["current"])
    return Checkpoint(
        round=count(header["round"]),
        settings=Settings.from_run_config(header["settings"]),
        spec=DataSpec.from_json(text(header["spec"])),
        roster=_object(header["roster"]),
        current=_model(current, header["current"]),
        # Checkpoints of former versions say nothing of the clients.
        best=None if header["best"] is None else _model(best, header["best"], header.get("best_clients", {})),
        average=tensors.get("average"),
        failed_rounds=[
            {name: text(why) for name, why in _object(failed).items()} for failed in header["failed_rounds"]
        ],
        lines=count(header["lines"]),
        pending=None if header["pending"] is None else check_record(header["pending"]),
        run=check_origin(header["run"]),
        seconds=not_negative(header["seconds"]),
    )


def _model(vector: np.ndarray, about: Any, clients: Any = None) -> Model:
    metrics = {key: None if value is None else finite(value) for key, value in _object(about["metrics"]).items()}
    measured = {name: _measured(of) for name, of in _object(clients or {}).items()}
    return Model(vector, count(about["round"]), metrics, measured)


def _measured(of: Any) -> Measured:
    n, score, log_likelihood = of
    if count(n) < 1:
        raise MalformedError("a client measured the best model on no sample")
    return Measured(n, finite(score), finite(log_likelihood))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedError("a field is no object")
    return value


def _checksum(text: str, tensors: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(text.encode())
    for key in sorted(tensors):
        digest.update(key.encode())
        digest.update(bits_of(tensors[key]))
    return digest.hexdigest()
