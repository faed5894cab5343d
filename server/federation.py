"""The federation: the loop of the paper's algorithm 1. It meets the clients, trains round by round, and tests."""

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.learning.vector_store import IN_MEMORY
from pfedgp_core.memory import MemoryLimit, require_memory
from pfedgp_core.methods.at_scales import chooses_scale
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import check_vector, explained_method, make_method
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.model.needs import model_needs
from pfedgp_core.schedule import is_evaluated
from pfedgp_core.wire.names import SCALES
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients, wait_for_returning
from server.engine import DEPLOYMENT, Engine
from server.exchanged import Evaluation
from server.exchanges import Exchanges
from server.failure_policy import FailurePolicy
from server.final_results import choices_meta, final_results, model_meta, refuse_untested
from server.joining import tests_initial, with_gains
from server.novel_clients import untrained_names
from server.outcome import round_record, with_evaluation
from server.personalise import personalise
from server.recorder import Progress, Recorder
from server.report.reporters import Reporter
from server.run.artefacts import RunFolder
from server.run.checkpoint import Checkpoint, Model
from server.running_average import running_average
from server.scale_choice import ScaleChoice
from server.strategy import MethodStrategy

__all__ = ["Federation", "run_federation"]

logger = logging.getLogger("pfedgp.server")


def run_federation(
    grid: Grid,
    settings: Settings,
    folder: RunFolder,
    reporters: Sequence[Reporter],
    engine: Engine = DEPLOYMENT,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Any]:
    """Train, keep the best model, test it on all clients.

    Parameters
    ----------
    grid : Grid
        Flower's connection to the clients.
    settings : Settings
    folder : RunFolder
        Takes the artefacts.
    reporters : sequence of Reporter
        Hear what happens, in this order, once it is in the folder.
    engine : Engine
        How the grid may be used; no number depends on it.
    checkpoint : Checkpoint, optional
        Of the run in `folder`, which goes on from it.

    Returns
    -------
    dict
        The run's summary, as in ``summary.json``.

    Raises
    ------
    ConfigError
        A setting, or a package that it needs, before anything is done.
    RunFailedError
        Too few clients, too many failed rounds in a row, a failure with ``on-failure = stop``, or no client that
        could test the model; and whatever else the run cannot go on with.
    ArtefactError
        Something could not be written; the former checkpoint is whole.
    """
    roster = Roster(settings, engine.window, folder.excluded)
    recorder = Recorder(folder, settings, roster, reporters, checkpoint.seconds if checkpoint else 0.0)
    with recorder.explaining():
        federation, done = Federation.begin(grid, settings, engine, roster, recorder, checkpoint)
        for t in range(done + 1, settings.rounds + 1):
            federation.train(t)
        return federation.test()


class Federation:
    """A federation whose clients are known. Make it with `begin`.

    Parameters
    ----------
    grid : Grid
    settings : Settings
    engine : Engine
        Where evaluations ride in the next round's exchange, the record of a round is *pending* until then.
    roster : Roster
        The clients, who were waited for.
    recorder : Recorder
    method : Method
        How clients update and predict, and how the server uses the updates.
    progress : Progress
        The model to train.
    """

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        engine: Engine,
        roster: Roster,
        recorder: Recorder,
        method: Method,
        progress: Progress,
    ) -> None:
        self.grid, self.settings, self.engine, self.roster = grid, settings, engine, roster
        self.recorder, self.method, self.progress = recorder, method, progress
        self.report = task_report(settings.task)
        self.failures = FailurePolicy(settings)
        # A request has room for one vector: that of an average goes in an exchange of its own.
        self.rides = engine.riding and not settings.average_states
        self.strategy = MethodStrategy(settings, roster, method, recorder.folder.path)
        run_key = recorder.folder.run_key
        self.exchanges = Exchanges(grid, settings, roster, self.strategy, run_key, recorder.releases, engine.window)

    @classmethod
    def begin(
        cls,
        grid: Grid,
        settings: Settings,
        engine: Engine,
        roster: Roster,
        recorder: Recorder,
        former: Checkpoint | None = None,
    ) -> "tuple[Federation, int]":
        """Meet the clients, and take the first model or that of the checkpoint `former`.

        Returns
        -------
        federation : Federation
        done : int
            Rounds that are done.
        """
        if former is not None:
            roster.adopt_state(former.roster)
            recorder.reopen(former)
        wait_for_clients(roster, grid)
        _require_memory(settings, roster)
        method = make_method(settings, roster.spec.input_shape, len(roster.spec.class_names))
        with explained_method(settings.method, "initial state"):
            first = method.initial()
        check_vector(settings.method, "initial state", first)
        _check_lengths(method, first, roster)
        recorder.start()
        if former is not None and former.current.vector.size != first.size:
            raise ArtefactError(
                f"The checkpoint of round {former.round} has {former.current.vector.size} values where this "
                f"version's method has {first.size}: go on with the version of pFedGP that started the run."
            )
        progress = Progress(Model(first)) if former is None else Progress(former.current, former.best, former.average)
        if settings.average_states and progress.average is None:
            progress.average = progress.model.vector
        federation = cls(grid, settings, engine, roster, recorder, method, progress)
        federation.strategy.summary()
        if former is None:
            federation._keep(0)
            return federation, 0
        federation._recall(former)
        return federation, former.round

    def train(self, t: int) -> None:
        """Round t: train the model, evaluate it where that is due, and record the results of both."""
        began = time.perf_counter()
        if not self.engine.steady or not self.roster.answering.settled:
            wait_for_clients(self.roster, self.grid, self.recorder.settle)
        riding = "validation" if self.recorder.pending is not None else ""  # of the state itself
        best = self.progress.best.round if self.progress.best else 0
        state, settle = self.progress.model.vector, self.recorder.settle
        following, training, former = self.exchanges.update(t, state, riding, best, settle)
        failed = dict(training.replies.failed)
        if (pending := self.recorder.take_pending()) is not None:
            failed = former.replies.failed | failed
            self.recorder.add(self._measured(pending, former))
        if following is not None:
            self.progress.model = Model(following, t)
            if self.progress.average is not None:
                weight = self.settings.average_states
                self.progress.average = running_average(self.progress.average, following, t, weight)
        trained, evaluation = time.perf_counter(), None
        due = is_evaluated(self.settings, t)
        if due and not (self.rides and t < self.settings.rounds):
            evaluation = self.exchanges.evaluate(t, self.progress.released, "validation")
            failed = evaluation.replies.failed | failed
        ended = time.perf_counter()
        seconds = {"round": ended - began, "train": trained - began, "evaluate": ended - trained}
        record = round_record(t, training, self.report, seconds)
        if evaluation is not None:
            self.recorder.add(self._measured(record, evaluation))
        elif due:
            self.recorder.pending = record
        else:
            self.recorder.add(record)
        self.failures.stop_after(t, failed)
        several = self.roster.own_data and min(len(self.roster.clients), self.settings.clients_per_round) > 1
        self.failures.count(t, training.replies, several)
        # Clients drop old states of their own once a later request comes, which a checkpoint before it may need.
        self._keep(t, later=self.rides and not self.method.keeps and t < self.settings.rounds)
        self.failures.give_up()

    def test(self) -> dict[str, Any]:
        """The best model on every client's test data, and all final artefacts; returns the summary."""
        model = replace(self.progress.model, vector=self.progress.released)
        self.recorder.save("final", model)
        best = self.progress.best or model
        if self.progress.best is None:
            logger.warning("no client has validation data: the best model is the final one")
            self.recorder.save("best", best)
        wait_for_returning(self.roster, self.grid)
        scale = self._scale(best)
        test = self.exchanges.evaluate(best.round, best.vector, "test", scale=scale.chosen)
        folder, history = self.recorder.folder, self.recorder.history
        refuse_untested(self.roster, test, folder.path)
        self.failures.stop_after_test(test.replies.failed)
        rows, total = final_results(
            folder, scale, self.roster, self.roster.spec, test, history, best, model, self.recorder.elapsed
        )
        if self.settings.personalise and self.roster.own_data and not self.method.onboards:
            logger.info("the sites keep no classifier: models of method %s are not onboarded", self.settings.method)
        elif self.settings.personalise and self.roster.own_data:
            about = (scale.settings, self.roster, self.roster.spec, self.report, choices_meta(total))
            meta = model_meta(best, *about)
            personalise(self.grid, self.settings, self.roster, best.vector, meta, folder)
        if tests_initial(self.settings, self.method):  # last: what a site's policy leaves goes to the results first
            initial = self.exchanges.evaluate(best.round, self.method.alone(), "test", True, scale.chosen)
            rows, total = with_gains(rows, total, initial, test)
            folder.write_clients(rows)
            total["seconds"] = self.recorder.elapsed()
        return self.recorder.finish(rows, total)

    def _scale(self, best: Model) -> ScaleChoice:
        """At which output scale the best model predicts, where that is to be chosen."""
        if not chooses_scale(self.method):
            return ScaleChoice(self.settings)
        told = self.exchanges.evaluate(best.round, best.vector, SCALES)
        return ScaleChoice.of(self.settings, told, untrained_names(self.roster))

    def _recall(self, former: Checkpoint) -> None:
        """Make the run, and its folder, what they were at the checkpoint."""
        done = [*self.recorder.history, *([former.pending] if former.pending else [])]
        # Runs of former versions have the median norm only.
        self.strategy.influence.recall(record.get("usual_norm", record.get("update_norm")) for record in done)
        self.failures.recall(former.failed_rounds)
        self.recorder.restore(former)

    def _measured(self, record: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
        """A round's record with the evaluation of its model, the current one; it becomes the best where it is."""
        model = Model(self.progress.released, record["round"], *evaluation.choice(self.settings.best_classes))
        best = self.progress.best
        is_best = self.report.improves(model.clients, best.clients) if best else None
        if is_best is None:
            is_best = self.report.better(model.metrics, best.metrics if best else {})
        current = model if self.progress.average is None else self.progress.model
        self.progress = Progress(current, model if is_best else best, self.progress.average)
        return with_evaluation(record, evaluation, is_best)

    def _keep(self, t: int, later: bool = False) -> None:
        self.recorder.keep(t, self.progress, self.failures.failed_rounds, later)


def _require_memory(settings: Settings, roster: Roster) -> None:
    """Make sure that this machine holds the model, its next state, a reply and those kept; MemoryLimitError if not."""
    about = (settings, roster.spec.input_shape, len(roster.spec.class_names))
    kept = int(IN_MEMORY / max(1.0, sum(need.bytes for need in model_needs(*about))))
    copies = 2 + min(kept + 1, settings.clients_per_round, len(roster.clients))
    require_memory(model_needs(*about, copies), MemoryLimit.of_machine())


def _check_lengths(method: Method, state: np.ndarray, roster: Roster) -> None:
    """Make sure that uploads minus downloads are vectors, where the method says that they mean something."""
    received, sent = len(method.download(state, roster.all[0].name)), method.upload_size
    if method.private and sent not in (0, received):
        raise ConfigError(
            f"Clients of method = {method.settings.method!r} receive {received} values and send {sent}, which is no "
            "update of one by the other: set private = False in its class."
        )
