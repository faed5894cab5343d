"""The recorder writes a run in an order that no crash can damage: record, checkpoint, best model, then reporters."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, PFedGPError, RunFailedError
from pfedgp_core.metrics.task_report import task_report
from server.clients.roster import Roster
from server.final_results import model_meta
from server.outcome import unfinished
from server.report.reporters import Reporter
from server.run.artefacts import RunFolder
from server.run.checkpoint import Checkpoint, Model, write_checkpoint
from server.run.files import CannotWriteError, truncate_lines
from server.run.joins import drop_joins_after, keep_before_join
from server.run.origin import Origin
from server.run.record_lines import read_record
from server.run.releases import Releases

__all__ = ["Progress", "Recorder"]


@dataclass
class Progress:
    """The state of the training.

    Attributes
    ----------
    model : Model
        The current one, from which the next round trains.
    average : float32 [P], optional
        The running average of the models up to the current one, where the run keeps one (``average-states``).
    best : Model or None
        None before the first evaluation.
    """

    model: Model
    best: Model | None = None
    average: np.ndarray | None = None

    @property
    def released(self) -> np.ndarray:
        """What is evaluated, and may become the best model: the average where there is one."""
        return self.model.vector if self.average is None else self.average


class Recorder:
    """Writes the folder of one run, and tells the reporters what is in it.

    A resume cuts ``metrics.jsonl`` to what the checkpoint knows and makes ``best/`` from it, so that a kill between any
    two of the steps costs nothing but time.

    Parameters
    ----------
    folder : RunFolder
    settings : Settings
    roster : Roster
        The clients of the run.
    reporters : sequence of Reporter
        Hear what happens, in this order, once it is in the folder.
    seconds : float
        That the run took before this process.

    Attributes
    ----------
    round : int or None
        The last one that a checkpoint holds; None before the first checkpoint.
    history : list of dict
        The lines of ``metrics.jsonl``.
    pending : dict or None
        The record of the last round, where it still lacks its evaluation and is no line yet.
    releases : Releases

    Raises
    ------
    ConfigError, ArtefactError
        As `Releases`.
    """

    def __init__(
        self,
        folder: RunFolder,
        settings: Settings,
        roster: Roster,
        reporters: Sequence[Reporter],
        seconds: float = 0.0,
    ) -> None:
        self.folder, self.settings, self.roster, self.reporters = folder, settings, roster, tuple(reporters)
        self.releases = Releases(folder.path, settings)
        self.round: int | None = None
        self.history: list[dict[str, Any]] = []
        self.pending: dict[str, Any] | None = None
        self._report = task_report(settings.task)
        self._started = time.perf_counter() - seconds
        self._told = 0  # records of the history that the reporters know
        self._saved_best: Model | None = None
        self._members: set[str] = set()  # of the last checkpoint
        self._unwritten: tuple[Checkpoint, set[str]] | None = None  # with the names of the clients

    def elapsed(self) -> float:
        """Seconds that the run has taken, those before a resume too."""
        return time.perf_counter() - self._started

    def reopen(self, former: Checkpoint) -> None:
        """Cut the records to those of a checkpoint; `restore` does the rest once the clients are there."""
        self.releases.cover({client.name: len(client.trained_in) for client in self.roster.all})
        self.round, self._members = former.round, {client.name for client in self.roster.all}
        drop_joins_after(self.folder.path, former.round)
        lines = truncate_lines(self.folder.path / "metrics.jsonl", former.lines)
        self.history = [read_record(line) for line in lines]
        self._told = len(self.history)

    def start(self) -> None:
        """Write down what the run is about, and tell the reporters that and who takes part."""
        clients = len(self.roster.clients)
        self.folder.originate(self.settings, Origin.of(self.settings, clients if self.roster.own_data else 0))
        for reporter in self.reporters:
            reporter.start(self.settings, clients, self.folder.path, self.folder.origin)

    def restore(self, former: Checkpoint) -> None:
        """Make ``best/`` and the pending record what they were at a checkpoint, and tell the reporters."""
        self.pending, self._saved_best = former.pending, former.best
        if former.best is None:
            self.folder.remove_best()
        else:
            self.folder.restore_best(former.best.vector, self.meta(former.best))
        for reporter in self.reporters:
            reporter.resume(former.round, self.history)

    def add(self, record: dict[str, Any]) -> None:
        """Write a round's line."""
        self.folder.append_round(record)
        self.history.append(record)

    def take_pending(self) -> dict[str, Any] | None:
        """The record that waited for its evaluation, once; None where there is none."""
        pending, self.pending = self.pending, None
        return pending

    def keep(self, t: int, progress: Progress, failed_rounds: list[dict[str, str]], later: bool = False) -> None:
        """Write the checkpoint of round t, then what follows from it, then tell the reporters.

        With `later`, all of this waits for `settle`, so that the clients have their next requests meanwhile. A kill in
        between costs the time of one round more.
        """
        self.settle()
        checkpoint = Checkpoint(
            round=t,
            settings=self.settings,
            spec=self.roster.spec,
            roster=self.roster.to_state(),
            current=progress.model,
            best=progress.best,
            average=progress.average,
            failed_rounds=list(failed_rounds),
            lines=len(self.history),
            pending=None if self.pending is None else dict(self.pending),
            run=dict(self.folder.run_info),
            seconds=self.elapsed(),
        )
        self._unwritten = checkpoint, {client.name for client in self.roster.all}
        if not later:
            self.settle()

    def settle(self) -> None:
        """Write the checkpoint that waits, if one does."""
        if self._unwritten is None:
            return
        checkpoint, members = self._unwritten
        self._unwritten = None
        if self.round is not None and members - self._members:
            keep_before_join(self.folder.path, self.round)
        write_checkpoint(self.folder.path, checkpoint)
        self.round, self._members = checkpoint.round, members
        if checkpoint.best is not None and checkpoint.best is not self._saved_best:
            self.save("best", checkpoint.best)
            self._saved_best = checkpoint.best
        self._tell()

    def save(self, which: Literal["best", "final"], model: Model) -> None:
        """Replace ``best/`` or ``final/``."""
        self.folder.save_model(which, model.vector, self.meta(model))

    def meta(self, model: Model) -> dict[str, Any]:
        """What is kept with a model; see `model_meta`."""
        return model_meta(model, self.settings, self.roster, self.roster.spec, self._report)

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> dict[str, Any]:
        """Write the summary, the last of all files but the reporters' own, and tell them; returns the summary."""
        total = {**summary, **self.releases.spent()}
        self.folder.write_summary(total)
        for reporter in self.reporters:
            reporter.finish(rows, total, self.folder.path)
        return total

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Whatever ends the run inside leaves its reason in the folder, and says how the run goes on.

        Raises
        ------
        ArtefactError
            Something could not be written; the former checkpoint is whole.
        RunFailedError
            Any other error of pFedGP.
        """
        try:
            with self._settled():
                yield
        except CannotWriteError as error:
            remedy = "make room and rights there."
            if self.round is not None:
                remedy = f"make room and rights there, then go on {self._where()}."
            written = CannotWriteError(error.what, remedy)
            self._fail(str(written))
            raise written from error
        except PFedGPError as error:
            reason = str(error) if self.round is None else f"{error} Go on {self._where()}."
            self._fail(reason)
            raise (ArtefactError if isinstance(error, ArtefactError) else RunFailedError)(reason) from error

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """Whatever ends the block, the checkpoint that waits is written."""
        try:
            yield
        except BaseException:
            with suppress(PFedGPError):  # what ended the block counts
                self.settle()
            raise
        self.settle()

    def _tell(self) -> None:
        for record in self.history[self._told :]:
            self._told += 1
            for reporter in self.reporters:
                reporter.round(record)

    def _fail(self, reason: str) -> None:
        """Leave what there is of a run that ends without a result."""
        with suppress(PFedGPError):
            if self.pending is not None:  # its evaluation will not come; a run that goes on makes the line again
                self.add(self.pending)
            self.pending = None
        with suppress(PFedGPError):  # the reason counts, not what may be wrong with telling it
            self._tell()
            spent = self.releases.spent()
            failed = unfinished(self.settings, self.history, reason, self.elapsed()) | spent
            self.folder.write_summary(failed)
            for reporter in self.reporters:
                reporter.fail(failed, self.folder.path)

    def _where(self) -> str:
        return f"after round {self.round} with: pfedgp resume {self.folder.path}"
