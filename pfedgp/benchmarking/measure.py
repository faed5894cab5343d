"""The measurement of one case: update against plain epoch, evaluation, prediction, phases, peak memory."""

import copy
import time
from collections.abc import Callable
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pfedgp.benchmarking.baseline import PlainEpoch
from pfedgp.benchmarking.cases import Case
from pfedgp.benchmarking.clock import alternate, clock_of, repeat, seconds
from pfedgp.benchmarking.images import digit_images, easily_confused
from pfedgp.benchmarking.memory import PeakMemory
from pfedgp.benchmarking.warm_start import spectrum, trained_state
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.methods.evaluation import evaluate_client
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.tree.classifier import PersonalClassifier

if TYPE_CHECKING:
    from pfedgp_core.model.shared import SharedState

__all__ = ["CaseBenchmark"]

BATCHES = (32, 64)  # the faster one is the yardstick
BATCH_TRIAL = 2000  # samples that decide it


@lru_cache(maxsize=1)
def _data(classes: int, n: int, test_points: int, seed: int) -> tuple[TensorSplit, TensorSplit]:
    """Training and test images of a client; one client's are kept, for its other variants."""
    chosen, stream = easily_confused(classes), Stream(seed, "client", classes, n)
    return (
        digit_images(chosen, n, stream.child("train")),
        digit_images(chosen, test_points, stream.child("test"), "test"),
    )


class CaseBenchmark:
    """One case with its data and weights in memory.

    Parameters
    ----------
    case : Case
    repeats : int
        Fewest pairs of update and epoch; a large case is measured once.
    seed : int
        Of data, weights and draws.
    worth : float
        Seconds up to which a short measurement is repeated beyond that.
    device : torch.device, optional
        Where data and weights are; the CPU if left out.
    """

    def __init__(self, case: Case, repeats: int, seed: int, worth: float, device: torch.device | None = None) -> None:
        self.case, self.seed = case, seed
        self.device = device or torch.device("cpu")
        self.clock = clock_of(self.device)
        self.repeats, self.worth = (1, 0.0) if case.large else (repeats, worth)
        self.settings = case.settings(seed)
        trained = trained_state(case.variant, case.inducing_per_class, seed)
        self.received = trained.to_vector()
        self.state = copy.deepcopy(trained).to(self.device)
        if case.large:
            _data.cache_clear()  # before and not after the new data are made: two large sets at once are too many
        parts = _data(case.classes, case.n, case.test_points, seed)
        self.train, self.test = (
            TensorSplit(part.inputs.to(self.device), part.labels.to(self.device)) for part in parts
        )
        self.memory = PeakMemory()
        self._draws = 0
        self._phases: dict[str, list[float]] = {}

    def run(self) -> dict[str, Any]:
        """Measure; see docs/benchmarks.md for the fields."""
        case, batch = self.case, self._fastest_batch()
        epoch = self._epoch(self.train, batch)
        self.memory.restart()
        if not case.large:
            self.update_seconds()  # warm up; large cases are long enough not to notice
        self._phases = {}
        pairs = alternate(self.update_seconds, lambda: self._epoch_seconds(epoch), self.repeats, self.worth)
        update_peak, update_phases = self.memory.megabytes(), self._median_phases()
        few = min(self.repeats, 3)
        evaluation = repeat(self.evaluate_seconds, few, self.worth)
        evaluation_phases = self._median_phases()
        prediction = self.predict_seconds(few)
        return {
            "variant": case.variant,
            "classes": case.classes,
            "n": case.n,
            "test_points": case.test_points,
            "inducing_per_class": case.inducing_per_class if VARIANTS[case.variant].needs_inducing else 0,
            "update_cpu_s": median(pairs.first),
            "epoch_cpu_s": median(pairs.second),
            "epoch_batch": batch,
            "ratio": pairs.ratio,
            "ratio_quartiles": list(pairs.spread),
            "pairs": len(pairs.first),
            "evaluate_cpu_s": median(evaluation),
            "predict_cpu_s": median(prediction),
            "peak_mb": self.memory.megabytes(),
            "update_peak_mb": update_peak,
            "peak_of": self.memory.method,
            "phases": update_phases,
            "evaluate_phases": evaluation_phases,
            "eigenvalues_above_0.1": spectrum(case.classes, self.seed),
        }

    def update_seconds(self) -> float:
        """One client update, from the received vector to the updated one."""
        stream = self._next_stream("update")
        start = self.clock()
        self.state.load_vector(self.received)
        result = local_update(self.state, self.train, self.settings, stream, self._phase_clock)
        self.state.to_vector()
        taken = self.clock() - start
        self._keep_phases(result.seconds, taken)
        return taken

    def evaluate_seconds(self) -> float:
        """One evaluation of the test points under the received weights."""
        stream = self._next_stream("evaluate")
        start = self.clock()
        self.state.load_vector(self.received)
        result = evaluate_client(self.state, self.train, self.test, self.settings, stream, self._phase_clock)
        taken = self.clock() - start
        self._keep_phases(result.seconds, taken)
        return taken

    def predict_seconds(self, fewest: int) -> list[float]:
        """Predictions of the test points, from images to probabilities, by a classifier fitted before."""
        state: SharedState = self.state
        state.load_vector(self.received)
        state.eval()
        kernel = state.kernel(self.settings)
        classifier = PersonalClassifier(self.settings, self._next_stream("predict"), state.inducing, kernel)
        classifier.fit(compute_features(state.network, self.train.inputs), self.train.labels)

        def predict() -> np.ndarray:
            return classifier.predict_proba(compute_features(state.network, self.test.inputs))

        return repeat(lambda: seconds(predict, self.clock), fewest, self.worth)

    @property
    def _phase_clock(self) -> Callable[[], float]:
        """Of the phases: on an accelerator the time until the work is under way, because looking would hold it up."""
        return time.process_time if self.device.type == "cpu" else time.perf_counter

    def _fastest_batch(self) -> int:
        few = TensorSplit(self.train.inputs[:BATCH_TRIAL], self.train.labels[:BATCH_TRIAL])
        trials = {batch: self._epoch(few, batch) for batch in BATCHES}
        for epoch in trials.values():
            self._epoch_seconds(epoch)
        taken = {batch: min(self._epoch_seconds(epoch) for _ in range(3)) for batch, epoch in trials.items()}
        return min(taken, key=taken.__getitem__)

    def _epoch_seconds(self, epoch: PlainEpoch) -> float:
        epoch.reset()
        return seconds(epoch.run, self.clock)

    def _epoch(self, data: TensorSplit, batch: int) -> PlainEpoch:
        stream = Stream(self.seed, "epoch", batch, device=self.device)
        return PlainEpoch(self.state.network, data, self.settings, stream, batch)

    def _next_stream(self, purpose: str) -> Stream:
        """New draws every time: the iterations that a solver needs depend on them."""
        self._draws += 1
        return Stream(self.seed, purpose, self._draws, device=self.device)

    def _keep_phases(self, phases: dict[str, float], total: float) -> None:
        for name, taken in {**phases, "other": total - sum(phases.values())}.items():
            self._phases.setdefault(name, []).append(taken)

    def _median_phases(self) -> dict[str, float]:
        """Median seconds of every phase since the last call."""
        phases, self._phases = self._phases, {}
        return {name: median(taken) for name, taken in phases.items()}
