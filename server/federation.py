"""The federation: the loop of the paper's algorithm 1, and what it leaves behind."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.exchange import Hello
from pfedgp_core.shared import SharedState
from pfedgp_core.simulated import simulated_partition
from server.artefacts import RunFolder
from server.calibration import calibration_record, temperature_results
from server.messages import exchange, pack_vector, request_config, unpack_vector
from server.outcome import client_rows, round_record, summary, unfinished
from server.reporters import Reporter
from server.roster import Roster
from server.strategy import Evaluation, PFedGP
from server.task_report import task_report

__all__ = ["Federation"]

logger = logging.getLogger("pfedgp.server")


@dataclass
class Model:
    """A shared vector, the round that made it, and its metrics on the pooled validation data where it was measured."""

    vector: np.ndarray
    round: int = 0
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)


class Federation:
    """One run. Call `run` once.

    Parameters
    ----------
    grid : Grid
        Flower's connection to the clients.
    settings : Settings
    folder : RunFolder
        Takes the artefacts.
    reporters : sequence of Reporter
        Hear what happens, in this order, once it is in the folder.
    """

    def __init__(self, grid: Grid, settings: Settings, folder: RunFolder, reporters: Sequence[Reporter]) -> None:
        self.grid, self.settings, self.folder, self.reporters = grid, settings, folder, tuple(reporters)
        self.roster, self.report = Roster(settings), task_report(settings.task)
        self.history: list[dict[str, Any]] = []
        self.failed_rounds: list[dict[str, str]] = []  # in a row, up to now
        self.started = time.perf_counter()

    def run(self) -> dict[str, Any]:
        """Train, keep the best model, test it on all clients.

        Returns
        -------
        dict
            The run's summary, as in ``summary.json``.

        Raises
        ------
        RunFailedError
            Too few clients, too many failed rounds in a row, or no client that could test the model.
        """
        try:
            self.roster.wait(self.grid)
            self.spec = self.roster.spec
            state = SharedState.initial(self.settings, self.spec.input_shape, len(self.spec.class_names))
            self.strategy = PFedGP(self.settings, self.roster, state.size)
            for reporter in self.reporters:
                reporter.start(self.settings, len(self.roster.clients), self.folder.path)
            self.strategy.summary()
            return self._test(self._train(Model(state.to_vector())))
        except RunFailedError as error:
            failed = unfinished(self.settings, self.history, str(error), self._elapsed())
            self.folder.write_summary(failed)
            for reporter in self.reporters:
                reporter.fail(failed, self.folder.path)
            raise

    def _train(self, model: Model) -> Model:
        """The rounds; returns the best model, or the last one where no client has validation data."""
        best: Model | None = None
        first = time.perf_counter()
        for t in range(1, self.settings.rounds + 1):
            began = time.perf_counter()
            self.roster.wait(self.grid)
            averaged = self._update(t, model.vector)
            if averaged is not None:
                model = Model(averaged, t)
            trained, evaluation, is_best = time.perf_counter(), Evaluation(report=self.report), False
            if t % self.settings.evaluate_every == 0 or t == self.settings.rounds:
                evaluation = self._evaluate(t, model.vector, "validation")
                model = Model(model.vector, t, evaluation.metrics)
                is_best = self.report.better(model.metrics, best.metrics if best else {})
            if is_best:
                best = model
                self._save("best", best)
            ended = time.perf_counter()
            seconds = {"round": ended - began, "train": trained - began, "evaluate": ended - trained}
            seconds["eta"] = (ended - first) / t * (self.settings.rounds - t)
            self._record(round_record(t, self.strategy.training, evaluation, is_best, model.vector.nbytes, seconds))
            self._give_up_after_failures(t)
        self._save("final", model)
        if best is None:
            logger.warning("no client has validation data: the best model is the final one")
            best = model
            self._save("best", best)
        return best

    def _update(self, t: int, vector: np.ndarray) -> np.ndarray | None:
        """Round t of the algorithm: the average of the sampled clients' updates; None where the model stays."""
        config = request_config(self.settings, t, spec=self.spec)
        messages = self.strategy.configure_train(t, pack_vector(vector), config, self.grid)
        arrays, _ = self.strategy.aggregate_train(t, exchange(self.grid, messages, self.settings.round_timeout))
        return None if arrays is None else unpack_vector(arrays)

    def _evaluate(self, t: int, vector: np.ndarray, split: str) -> Evaluation:
        """Every client's personal classifier under the shared `vector`, on its own data."""
        config = request_config(self.settings, t, split, self.spec)
        messages = self.strategy.configure_evaluate(t, pack_vector(vector), config, self.grid)
        self.strategy.aggregate_evaluate(t, exchange(self.grid, messages, self.settings.round_timeout))
        return self.strategy.evaluation

    def _record(self, record: dict[str, Any]) -> None:
        self.history.append(record)
        self.folder.append_round(record)
        for reporter in self.reporters:
            reporter.round(record)

    def _give_up_after_failures(self, t: int) -> None:
        replies = self.strategy.training.replies
        if len(replies.accepted) >= self.settings.min_results:
            self.failed_rounds = []
            return
        logger.warning(
            "round %d failed with %d of %d needed replies: the model stays as it was",
            *(t, len(replies.accepted), self.settings.min_results),
        )
        self.failed_rounds.append(replies.failed)
        if len(self.failed_rounds) >= self.settings.max_failed_rounds:
            reasons = {name: reason for failed in self.failed_rounds for name, reason in failed.items()}
            named = ", ".join(f"{name}: {reason}" for name, reason in sorted(reasons.items()))
            raise RunFailedError(
                f"{len(self.failed_rounds)} rounds in a row had fewer than min-results = {self.settings.min_results} "
                f"usable replies ({named}); the clients' own logs say more."
            )

    def _test(self, best: Model) -> dict[str, Any]:
        """The best model on every client's test data, and all final artefacts."""
        self.roster.refresh(self.grid)
        test = self._evaluate(best.round, best.vector, "test")
        missing = {
            client.name: test.replies.failed.get(client.name, "not connected")
            for client in self.roster.all
            if client.hello.n_test and client.name not in test.replies.accepted
        }
        if missing and not test.replies.accepted:
            named = ", ".join(f"{name}: {reason}" for name, reason in missing.items())
            raise RunFailedError(f"No client could test the model ({named}); the model is in {self.folder.path}.")
        rows = client_rows(self.roster, test)
        self.folder.write_clients(rows)
        self.folder.write_plots(self.history, test.pooled)
        calibration = calibration_record(test, self.spec.class_names)
        if calibration is not None:
            self.folder.write_calibration(calibration)
        self._write_partition(self.roster.reference)
        total = summary(
            self.settings,
            self.roster,
            test,
            self.history,
            best.round,
            best.metrics.get(self.report.score),
            missing,
            self._elapsed(),
        ) | temperature_results(test)
        self.folder.write_summary(total)
        for reporter in self.reporters:
            reporter.finish(rows, total, self.folder.path)
        return total

    def _write_partition(self, hello: Hello) -> None:
        """Keep the simulated partition with the results, where this machine has the data set too."""
        if not hello.partition_hash:
            return
        try:
            partition = simulated_partition(self.settings)
        except Exception as error:
            logger.warning("the partition is not in the folder: %s: %s", type(error).__name__, error)
            return
        if partition.hash == hello.partition_hash:
            self.folder.write_partition(partition)
        else:
            logger.warning("the partition is not in the folder: the clients' data set differs from this machine's")

    def _save(self, which: Any, model: Model) -> None:
        meta = {
            "round": model.round,
            self.report.score_key: model.metrics.get(self.report.score),
            "class_names": list(self.spec.class_names),
            "input_shape": list(self.spec.input_shape),
            "normalisation": {"mean": list(self.spec.mean), "std": list(self.spec.std)},
            "clients": [client.name for client in self.roster.all],
            "settings": self.settings.to_run_config(),
        }
        self.folder.save_model(which, model.vector, meta)

    def _elapsed(self) -> float:
        return time.perf_counter() - self.started
