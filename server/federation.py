"""The federation: the loop of the paper's algorithm 1, and what it leaves behind after every round."""

import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, PFedGPError, RunFailedError
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.model.shared import SharedState
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients, wait_for_returning
from server.exchanged import Evaluation
from server.failure_policy import FailurePolicy
from server.final_results import final_results, model_meta, refuse_untested
from server.flower.messages import exchange, pack_vector, request_config, unpack_vector
from server.outcome import read_record, round_record, unfinished, with_evaluation
from server.personalise import personalise
from server.report.reporters import Reporter
from server.run.artefacts import RunFolder
from server.run.checkpoint import Checkpoint, Model, write_checkpoint
from server.run.files import CannotWriteError, truncate_lines
from server.run.releases import Releases
from server.strategy import PFedGP

__all__ = ["Federation"]

logger = logging.getLogger("pfedgp.server")


class Federation:
    """One run. Call `run` once.

    Where every exchange costs most of a second, which is everywhere but in the simulation engine, the evaluation of a
    round's model rides in the next round's exchange; the round's record is *pending* until then. The numbers are those
    of an exchange of its own.

    Parameters
    ----------
    grid : Grid
        Flower's connection to the clients.
    settings : Settings
    folder : RunFolder
        Takes the artefacts.
    reporters : sequence of Reporter
        Hear what happens, in this order, once it is in the folder.
    checkpoint : Checkpoint, optional
        Of the run in `folder`, which goes on from it.
    """

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        folder: RunFolder,
        reporters: Sequence[Reporter],
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.grid, self.settings, self.folder, self.reporters = grid, settings, folder, tuple(reporters)
        self.checkpoint = checkpoint
        self.roster, self.report = Roster(settings), task_report(settings.task)
        self.round: int | None = None  # the last one that a checkpoint holds
        self.best: Model | None = None
        self.pending: dict[str, Any] | None = None
        self.history: list[dict[str, Any]] = []
        self.failures = FailurePolicy(settings)
        self.releases = Releases(folder.path, settings)
        self.started = time.perf_counter() - (checkpoint.seconds if checkpoint else 0.0)
        self._told = 0  # records of the history that the reporters know
        self._saved_best: Model | None = None

    def run(self) -> dict[str, Any]:
        """Train, keep the best model, test it on all clients.

        Returns
        -------
        dict
            The run's summary, as in ``summary.json``.

        Raises
        ------
        RunFailedError
            Too few clients, too many failed rounds in a row, a failure with ``on-failure = stop``, or no client that
            could test the model; and whatever else the run cannot go on with.
        ArtefactError
            Something could not be written; the former checkpoint is whole.
        """
        try:
            self._begin()
            self._train()
            return self._test(self._save_models())
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

    def _begin(self) -> None:
        """Meet the clients, and take the first model or that of the checkpoint."""
        former = self.checkpoint
        if former is not None:
            self.roster.adopt_state(former.roster)
            self.releases.cover({client.name: len(client.trained_in) for client in self.roster.all})
            self.round = former.round
            lines = truncate_lines(self.folder.path / "metrics.jsonl", former.lines)
            self.history = [read_record(line) for line in lines]
            self._told = len(self.history)
        wait_for_clients(self.roster, self.grid)
        self.spec = self.roster.spec
        state = SharedState.initial(self.settings, self.spec.input_shape, len(self.spec.class_names))
        self.strategy = PFedGP(self.settings, self.roster, state.size)
        for reporter in self.reporters:
            reporter.start(self.settings, len(self.roster.clients), self.folder.path, self.roster.own_data)
        self.strategy.summary()
        if former is None:
            self.model = Model(state.to_vector())
            self._keep(0)
        else:
            self._take_up(former, state.size)

    def _take_up(self, former: Checkpoint, size: int) -> None:
        """Make the run, and its folder, what they were at the checkpoint."""
        if former.current.vector.size != size:
            raise ArtefactError(
                f"The checkpoint of round {former.round} has {former.current.vector.size} shared values where this "
                f"version's network has {size}: go on with the version of pFedGP that started the run."
            )
        self.model, self.best, self.pending = former.current, former.best, former.pending
        done = [*self.history, *([self.pending] if self.pending else [])]
        self.strategy.recall(record.get("update_norm") for record in done)
        self.failures.recall(former.failed_rounds)
        self._saved_best = self.best
        if self.best is None:
            self.folder.remove_best()
        else:
            self.folder.restore_best(self.best.vector, self._meta(self.best))
        for reporter in self.reporters:
            reporter.resume(former.round, self.history)

    def _train(self) -> None:
        """The rounds that are left."""
        assert self.round is not None  # `_begin` has kept or taken up one
        before, rounds = self.round, self.settings.rounds
        riding = not hasattr(self.grid, "window")
        for t in range(before + 1, rounds + 1):
            began = time.perf_counter()
            wait_for_clients(self.roster, self.grid)
            averaged = self._update(t)
            failed = dict(self.strategy.training.replies.failed)
            if self.pending is not None:
                failed = self.strategy.evaluation.replies.failed | failed
                pending, self.pending = self.pending, None
                self._record(pending, self.strategy.evaluation)
            if averaged is not None:
                self.model = Model(averaged, t)
            trained, evaluation = time.perf_counter(), None
            due = t % self.settings.evaluate_every == 0 or t == rounds
            if due and (not riding or t == rounds):
                evaluation = self._evaluate(t, self.model.vector, "validation")
                failed = evaluation.replies.failed | failed
            ended = time.perf_counter()
            seconds = {"round": ended - began, "train": trained - began, "evaluate": ended - trained}
            record = round_record(t, self.strategy.training, self.report, self.model.vector.nbytes, seconds)
            if due and evaluation is None:
                self.pending = record
            else:
                self._record(record, evaluation)
            self.failures.stop_after(t, failed)
            several = self.roster.own_data and min(len(self.roster.clients), self.settings.clients_per_round) > 1
            self.failures.count(t, self.strategy.training.replies, several)
            self._keep(t)
            self.failures.give_up()

    def _update(self, t: int) -> np.ndarray | None:
        """Round t of the algorithm: the average of the sampled clients' updates; None where the model stays."""
        split = "" if self.pending is None else "validation"
        config = request_config(self.settings, t, split, self.spec)
        messages = self.strategy.configure_train(t, pack_vector(self.model.vector), config, self.grid)
        self.releases.note(t, (client.name for client, _ in self.strategy.training.asked))
        arrays, _ = self.strategy.aggregate_train(t, self._exchange(messages))
        return None if arrays is None else unpack_vector(arrays)

    def _evaluate(self, t: int, vector: np.ndarray, split: str) -> Evaluation:
        """Every client's personal classifier under the shared `vector`, on its own data."""
        config = request_config(self.settings, t, split, self.spec)
        messages = self.strategy.configure_evaluate(t, pack_vector(vector), config, self.grid)
        self.strategy.aggregate_evaluate(t, self._exchange(messages))
        return self.strategy.evaluation

    def _exchange(self, messages: Iterable[Message]) -> list[Message]:
        own = self.roster.own_data
        names = {node: client.name for node, client in self.roster.by_node().items()} if own else None
        return exchange(self.grid, list(messages), self.settings.round_timeout, names)

    def _record(self, record: dict[str, Any], evaluation: Evaluation | None = None) -> None:
        """Add a round to the history; its model is the current one, and becomes the best where it is."""
        if evaluation is not None:
            self.model = Model(self.model.vector, record["round"], evaluation.metrics)
            is_best = self.report.better(self.model.metrics, self.best.metrics if self.best else {})
            if is_best:
                self.best = self.model
            record = with_evaluation(record, evaluation, is_best, self.model.vector.nbytes)
        self.folder.append_round(record)
        self.history.append(record)

    def _keep(self, t: int) -> None:
        """Write the checkpoint, then what follows from it, then tell the reporters."""
        write_checkpoint(
            self.folder.path,
            Checkpoint(
                round=t,
                settings=self.settings,
                spec=self.spec,
                roster=self.roster.to_state(),
                current=self.model,
                best=self.best,
                failed_rounds=self.failures.failed_rounds,
                lines=len(self.history),
                pending=self.pending,
                run=self.folder.run_info,
                seconds=self._elapsed(),
            ),
        )
        self.round = t
        if self.best is not None and self.best is not self._saved_best:
            self._save("best", self.best)
            self._saved_best = self.best
        self._tell()

    def _tell(self) -> None:
        for record in self.history[self._told :]:
            self._told += 1
            for reporter in self.reporters:
                reporter.round(record)

    def _save_models(self) -> Model:
        """Leave the final model, and return the best one, which is the final one where no client can tell."""
        self._save("final", self.model)
        if self.best is None:
            logger.warning("no client has validation data: the best model is the final one")
            self._save("best", self.model)
        return self.best or self.model

    def _test(self, best: Model) -> dict[str, Any]:
        """The best model on every client's test data, and all final artefacts; the summary is the last of them."""
        wait_for_returning(self.roster, self.grid)
        test = self._evaluate(best.round, best.vector, "test")
        refuse_untested(self.roster, test, self.folder.path)
        rows, total = final_results(
            self.folder, self.settings, self.roster, self.spec, test, self.history, best, self.model, self._elapsed
        )
        if self.settings.personalise and self.roster.own_data:
            meta = self._meta(best, total.get("model_temperature"))
            personalise(self.grid, self.settings, self.roster, best.vector, meta, self.folder)
        total |= self.releases.spent()
        self.folder.write_summary(total)
        for reporter in self.reporters:
            reporter.finish(rows, total, self.folder.path)
        return total

    def _fail(self, reason: str) -> None:
        """Leave what there is of a run that ends without a result."""
        with suppress(PFedGPError):
            if self.pending is not None:  # its evaluation will not come; a run that goes on makes the line again
                self._record(self.pending)
            self.pending = None
        with suppress(PFedGPError):  # the reason counts, not what may be wrong with telling it
            self._tell()
            spent = self.releases.spent()
            failed = unfinished(self.settings, self.roster, self.history, reason, self._elapsed()) | spent
            self.folder.write_summary(failed)
            for reporter in self.reporters:
                reporter.fail(failed, self.folder.path)

    def _where(self) -> str:
        return f"after round {self.round} with: pfedgp resume {self.folder.path}"

    def _save(self, which: Literal["best", "final"], model: Model) -> None:
        self.folder.save_model(which, model.vector, self._meta(model))

    def _meta(self, model: Model, temperature: float | None = None) -> dict[str, Any]:
        return model_meta(model, self.settings, self.roster, self.spec, self.report, temperature)

    def _elapsed(self) -> float:
        return time.perf_counter() - self.started
