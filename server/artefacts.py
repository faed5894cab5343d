"""The folder of a run: everything a federation leaves behind, written so that a crash never spoils it.

``config.toml``
    All effective settings, with the run's origin as comments.
``metrics.jsonl``
    One JSON object a round, on disk before the next round starts.
``best/``, ``final/``
    ``model.safetensors`` (key ``shared``) and ``meta.json``, a readable copy of what its header says.
``partition.json``
    Which sample went to which simulated client.
``clients.csv``, ``summary.json``
    Results per client and of the whole federation.
``checkpoints/``
    The state after each of the last three rounds, from which ``pfedgp resume`` goes on (`server.checkpoint`).
``releases.jsonl``
    With differential privacy: who was asked for an update, round by round.
``onboarded.json``
    With own data: what became of the best model at each site.
``calibration.json``
    Bins of the test predictions per client and pooled, at each temperature, and class confusion.
``report.html``, ``figures/``
    The report of the run, and its figures as PNG and SVG.
``accuracy.png``, ``reliability.png``
    Accuracy over rounds; calibration of the final predictions. In regression ``rmse.png`` and ``coverage.png``.
"""

import csv
import hashlib
import io
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, NonFiniteError
from pfedgp_core.metrics import MetricSums
from pfedgp_core.regression_metrics import RegressionSums
from server.files import append_line, explained, is_partial, write_new, write_whole
from server.run_lock import LOCK_FILE
from server.settings_file import dump_settings

__all__ = ["CLIENT_COLUMNS", "MODEL_KEY", "RunFolder", "check_new_folder", "load_model", "read_origin"]

MODEL_KEY = "shared"
CLIENT_COLUMNS = (
    "name",
    "classes",
    "n_train",
    "n_test",
    "rounds_trained",
    "last_trained_round",
    "accuracy",
    "nll",
    "ece",
    "brier",
)
_MARKS_OF_A_RUN = ("config.toml", "metrics.jsonl", "summary.json", "best", "final")
_log = logging.getLogger("pfedgp")


class Partitioned(Protocol):
    """What `RunFolder.write_partition` needs of a partition."""

    def to_json(self) -> str:
        """Return the partition as one JSON text."""


class RunFolder:
    """Writes the artefacts of one run. Make it with `create`; each method raises ArtefactError where writing fails."""

    def __init__(self, path: Path, run_info: Mapping[str, Any]) -> None:
        self.path, self.run_info = path, dict(run_info)

    @classmethod
    def create(cls, path: Path, settings: Settings, run_info: Mapping[str, Any]) -> "RunFolder":
        """Make the folder of a new run and write its settings.

        Parameters
        ----------
        path : Path
            The run's own folder; may exist, but must not hold a run.
        settings : Settings
            The effective settings.
        run_info : mapping
            Origin of the run (versions, command, ...): comments of ``config.toml``, and ``run`` in ``summary.json``.

        Raises
        ------
        ArtefactError
            The folder holds a run already, or cannot be written.
        """
        _refuse_used(path)
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
        if not write_new(path / "config.toml", _config(settings, run_info)):
            raise _used(path)
        return cls(path, run_info)

    @classmethod
    def reopen(cls, path: Path, settings: Settings, run_info: Mapping[str, Any]) -> "RunFolder":
        """Go on with the run in a folder: what said that it had failed, or was complete, is removed.

        Parameters
        ----------
        path : Path
        settings : Settings
            Replace those in ``config.toml`` where they differ, which is in the number of rounds only.
        run_info : mapping
            As in `create`.

        Raises
        ------
        ArtefactError
            The folder cannot be written.
        """
        text, file = _config(settings, run_info), path / "config.toml"
        with explained(path):
            if file.read_text(encoding="utf-8") != text:
                write_whole(file, text)
            for name in ("summary.json", "error.log"):
                (path / name).unlink(missing_ok=True)
        return cls(path, run_info)

    def remove_best(self) -> None:
        """Remove ``best/``, which a run that goes on does not have yet."""
        folder = self.path / "best"
        with explained(folder):
            for name in ("model.safetensors", "meta.json"):
                (folder / name).unlink(missing_ok=True)

    def restore_best(self, vector: np.ndarray, meta: Mapping[str, Any]) -> None:
        """Make ``best/`` the given model, unless it is that already."""
        folder = self.path / "best"
        try:
            kept, kept_meta = load_model(folder)
            readable = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        except (ArtefactError, OSError, ValueError):
            pass
        else:
            if kept.tobytes() == vector.tobytes() and kept_meta.get("round") == meta["round"] and readable == kept_meta:
                return
        self.save_model("best", vector, meta)

    def append_round(self, record: Mapping[str, Any]) -> None:
        """Add a line to ``metrics.jsonl``, on disk when this returns.

        Raises
        ------
        NonFiniteError
            The record holds NaN or infinity; the file is left as it was.
        """
        append_line(self.path / "metrics.jsonl", _to_json(record, f"record of round {record.get('round')}"))

    def save_model(self, which: Literal["best", "final"], vector: np.ndarray, meta: Mapping[str, Any]) -> None:
        """Replace the best or final model in one step; a crash leaves the former model whole.

        Parameters
        ----------
        which : {"best", "final"}
            Name of the folder below the run.
        vector : float32 [P]
            The shared vector.
        meta : mapping
            What a reader needs to use the vector (round, class names, network, ...), JSON values only.

        Raises
        ------
        NonFiniteError
            The vector or the meta data hold NaN or infinity.
        """
        if vector.dtype != np.float32 or vector.ndim != 1:
            raise ArtefactError(f"The {which} model is {vector.dtype} {list(vector.shape)}: give a float32 vector.")
        if not np.isfinite(vector).all():
            raise NonFiniteError(f"The {which} model holds NaN or infinity, so it is not saved; lower learning-rate.")
        # The header travels inside the model, so no crash can leave a model beside the description of another.
        header = {"meta": _to_json(meta, f"meta of the {which} model"), "sha256": _checksum(vector)}
        folder = self.path / which
        with explained(folder):
            folder.mkdir(exist_ok=True)
        content = to_safetensors({MODEL_KEY: vector.copy()}, metadata=header)
        write_whole(folder / "model.safetensors", _ordered(content))
        write_whole(folder / "meta.json", json.dumps(json.loads(header["meta"]), indent=2) + "\n")

    def write_partition(self, partition: Partitioned) -> None:
        """Write ``partition.json``."""
        write_whole(self.path / "partition.json", partition.to_json() + "\n")

    def write_clients(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write ``clients.csv``: a line a client; classes are joined by ``;``, a missing number is ``n/a``."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        # A regression has no classes; its columns are those of its rows.
        columns = tuple(rows[0]) if rows and "classes" not in rows[0] else CLIENT_COLUMNS
        writer.writerow(columns)
        for row in rows:
            cells = [";".join(row[c]) if c == "classes" else row[c] for c in columns]
            writer.writerow(["n/a" if cell is None else cell for cell in cells])
        write_whole(self.path / "clients.csv", text.getvalue())

    def write_calibration(self, record: Mapping[str, Any]) -> None:
        """Write ``calibration.json``: bins of the test predictions per client and pooled, and class confusion."""
        write_whole(self.path / "calibration.json", _to_json(record, "calibration record") + "\n")

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write ``summary.json``; a run without it was cut off."""
        text = _to_json({**summary, "run": self.run_info}, "summary", indent=2)
        write_whole(self.path / "summary.json", text + "\n")

    def write_plots(self, history: Sequence[Mapping[str, Any]], sums: MetricSums | RegressionSums) -> None:
        """Draw the two pictures of the task; a picture that fails is a warning, not a failed run."""
        pair = ("rmse", "coverage") if isinstance(sums, RegressionSums) else ("accuracy", "reliability")
        for name, shown in zip(pair, (history, sums), strict=True):
            try:
                from server import plots

                write_whole(self.path / f"{name}.png", getattr(plots, f"{name}_png")(shown))
            except Exception as error:
                _log.warning("The picture %s.png could not be made (%s: %s).", name, type(error).__name__, error)


def load_model(path: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Read a model that `RunFolder.save_model` wrote.

    Parameters
    ----------
    path : Path
        The folder ``best`` or ``final`` of a run.

    Returns
    -------
    vector : float32 [P]
    meta : dict

    Raises
    ------
    ArtefactError
        There is no model, or it is damaged.
    """
    file = path / "model.safetensors"
    if not file.is_file():
        raise ArtefactError(f"There is no model in {path}: give the folder 'best' or 'final' of a run.")
    try:
        with safe_open(file, framework="numpy") as model:
            vector, header = model.get_tensor(MODEL_KEY), model.metadata() or {}
        meta = json.loads(header["meta"])
        intact = vector.dtype == np.float32 and vector.ndim == 1 and header["sha256"] == _checksum(vector)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ArtefactError(f"The model {file} is damaged ({error}): restore it from a copy or run again.") from error
    if not intact or not isinstance(meta, dict):
        raise ArtefactError(f"The model {file} is damaged (checksum differs): restore it from a copy or run again.")
    return vector, meta


def read_origin(path: Path) -> dict[str, Any]:
    """Read back the run info that `RunFolder.create` wrote into the comments of ``config.toml``.

    Raises
    ------
    ArtefactError
        The file cannot be read.
    """
    file, origin = path / "config.toml", {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArtefactError(f"Cannot read {file} ({error}): give the folder of a run.") from error
    for line in lines:
        if match := re.fullmatch(r"# ([a-z_]+): (.+)", line):
            try:
                origin[match[1]] = json.loads(match[2])
            except ValueError:
                continue  # a comment of a person
    return origin


def check_new_folder(path: Path) -> None:
    """Find out before a run whether its folder can be made and written, leaving nothing behind.

    Raises
    ------
    ArtefactError
        The folder holds a run already, or cannot be written.
    """
    _refuse_used(path)
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    probe = path / f".probe-{os.getpid()}"
    try:
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"pfedgp")
            probe.unlink()
    finally:
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _refuse_used(path: Path) -> None:
    with explained(path):
        if path.exists() and not path.is_dir():
            raise ArtefactError(f"{path} is a file: give a folder that does not exist yet with --out.")
        if any((path / name).exists() for name in _MARKS_OF_A_RUN):
            raise _used(path)
        # A run that was killed before its first file leaves its lock, which nobody holds, and at most half a file.
        names = [file.name for file in path.iterdir()] if path.is_dir() else []
        if any(name != LOCK_FILE and not is_partial(name) for name in names):
            raise ArtefactError(f"{path} is not empty: give a folder of its own with --out, nothing in it is touched.")


def _used(path: Path) -> ArtefactError:
    return ArtefactError(f"The folder {path} already holds a run: give another one with --out, or move it away.")


def _config(settings: Settings, run_info: Mapping[str, Any]) -> str:
    # As JSON, a value with line breaks stays on its line, where it cannot pass for a setting.
    origin = "".join(f"# {key}: {_to_json(value, f'run info {key}')}\n" for key, value in run_info.items())
    head = "# Settings of a pFedGP run. Repeat it with: pfedgp simulate --config THIS_FILE\n"
    return f"{head}{origin}\n{dump_settings(settings)}"


def _checksum(vector: np.ndarray) -> str:
    return hashlib.sha256(vector.tobytes()).hexdigest()


def _ordered(content: bytes) -> bytes:
    """The same safetensors file with its header in alphabetical order, so that equal models are equal files."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header = {
        key: dict(sorted(header[key].items())) if key == "__metadata__" else header[key] for key in sorted(header)
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def _to_json(value: Any, what: str, indent: int | None = None) -> str:
    try:
        return json.dumps(value, indent=indent, allow_nan=False, default=_plain)
    except ValueError as error:
        raise NonFiniteError(f"The {what} holds NaN or infinity; use null for a number that does not exist.") from error


def _plain(value: Any) -> Any:
    """Return Python's form of numpy's numbers and arrays, and of paths."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
