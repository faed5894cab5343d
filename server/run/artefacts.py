"""The folder of a run: all results of a federation, written so that a crash never damages them.

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
``classes.csv``
    Results by site and class, of classification.
``checkpoints/``
    The state after each of the last three rounds, from which ``pfedgp resume`` goes on (`server.run.checkpoint`), and
    in ``joins/`` those from before a client joined (`server.run.joins`).
``releases.jsonl``
    With differential privacy: who was asked for an update, round by round.
``refusals.jsonl``
    In a deployment: what sites were told that cannot take part.
``onboarded.json``
    With own data: the result of onboarding at each site.
``calibration.json``
    Bins of the test predictions per client and pooled, at each temperature, and class confusion.
``report.html``, ``model-card.md``, ``model-card.json``, ``figures/``
    The report of the run, its model card, and its figures as PNG and SVG.
``accuracy.png``, ``reliability.png``
    Accuracy over rounds; calibration of the final predictions. In regression ``rmse.png`` and ``coverage.png``.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.files.csv_text import csv_text, join_names
from server.run.files import append_line, explained, write_new, write_whole
from server.run.json_text import to_json
from server.run.model_file import holds_model, remove_model, save_model
from server.run.new_folder import refuse_used, used
from server.run.origin import UNKNOWN, Origin
from server.run.run_config import WITHOUT, config_text

__all__ = ["RunFolder"]

_log = logging.getLogger("pfedgp")


class Partitioned(Protocol):
    """What `RunFolder.write_partition` needs of a partition."""

    def to_json(self) -> str:
        """Return the partition as one JSON text."""


class RunFolder:
    """Writes the artefacts of one run. Make it with `create`; each method raises ArtefactError where writing fails."""

    def __init__(self, path: Path, run_info: Mapping[str, Any]) -> None:
        self.path, self.run_info = path, dict(run_info)

    @property
    def run_key(self) -> str:
        """Names the run to its clients; a run that goes on has the one it was started with."""
        return str(self.run_info.get("run_id", ""))

    @property
    def excluded(self) -> list[str]:
        """Clients without which the run goes on (`server.without`)."""
        return list(self.run_info.get(WITHOUT, []))

    @property
    def origin(self) -> Origin:
        """The run's origin; unknown before `originate`."""
        info = self.run_info
        return Origin(str(info.get("data", UNKNOWN)), str(info.get("repeat", "")), bool(info.get("own_data")))

    def originate(self, settings: Settings, origin: Origin) -> None:
        """Write down the run's origin, once; a run that goes on has the one that it was started with."""
        if "data" not in self.run_info:
            self.run_info |= {"data": origin.data, "repeat": origin.repeat, "own_data": origin.own}
            write_whole(self.path / "config.toml", config_text(settings, self.run_info))

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
        refuse_used(path)
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
        if not write_new(path / "config.toml", config_text(settings, run_info)):
            raise used(path)
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
        text, file = config_text(settings, run_info), path / "config.toml"
        with explained(path):
            if file.read_text(encoding="utf-8") != text:
                write_whole(file, text)
            for name in ("summary.json", "error.log"):
                (path / name).unlink(missing_ok=True)
        return cls(path, run_info)

    def remove_best(self) -> None:
        """Remove ``best/``, which a run that goes on does not have yet."""
        remove_model(self.path / "best")

    def restore_best(self, vector: np.ndarray, meta: Mapping[str, Any]) -> None:
        """Make ``best/`` the given model, unless it is that already."""
        if not holds_model(self.path / "best", vector, meta["round"]):
            self.save_model("best", vector, meta)

    def append_round(self, record: Mapping[str, Any]) -> None:
        """Add a line to ``metrics.jsonl``, on disk when this returns.

        Raises
        ------
        NonFiniteError
            The record holds NaN or infinity; the file is left as it was.
        """
        append_line(self.path / "metrics.jsonl", to_json(record, f"record of round {record.get('round')}"))

    def save_model(self, which: Literal["best", "final"], vector: np.ndarray, meta: Mapping[str, Any]) -> None:
        """Replace the best or final model in one step; see `model_file.save_model`."""
        save_model(self.path / which, vector, meta)

    def write_partition(self, partition: Partitioned) -> None:
        """Write ``partition.json``."""
        write_whole(self.path / "partition.json", partition.to_json() + "\n")

    def write_clients(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write ``clients.csv``: a line a client; a missing number is ``n/a`` (`pfedgp_core.files.csv_text`)."""
        self.write_table("clients.csv", rows)

    def write_table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows with the same keys as CSV; a missing number is ``n/a``, and lists of classes are joined."""
        columns = tuple(rows[0]) if rows else ("name",)
        lines = [[join_names(row[c]) if c == "classes" else row[c] for c in columns] for row in rows]
        cells = [["n/a" if cell is None else cell for cell in line] for line in lines]
        write_whole(self.path / name, csv_text(columns, cells))

    def write_calibration(self, record: Mapping[str, Any]) -> None:
        """Write ``calibration.json``: bins of the test predictions per client and pooled, and class confusion."""
        write_whole(self.path / "calibration.json", to_json(record, "calibration record") + "\n")

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write ``summary.json``; a run without it was cut off."""
        text = to_json({**summary, "dataset": self.origin.data, "run": self.run_info}, "summary", indent=2)
        write_whole(self.path / "summary.json", text + "\n")
