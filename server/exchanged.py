"""Results of an exchange with the clients: a round of training, an evaluation."""

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from flwr.app import Message

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.learning.timing import CPU
from pfedgp_core.learning.vector_store import VectorStore
from pfedgp_core.metrics.best_choice import Measured
from pfedgp_core.metrics.sampling import sampling_errors
from pfedgp_core.metrics.task_report import CLASSIFICATION, Sums, TaskReport
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from server.clients.roster import Client
from server.flower.messages import Packed
from server.flower.reply_checks import Checked

__all__ = ["Asked", "Evaluation", "Training"]


class Asked(NamedTuple):
    """A client, its request, and the vector in that."""

    client: Client
    message: Message
    packed: Packed

    @property
    def sent(self) -> np.ndarray:
        """The vector from which the client starts, with the values that it does not need."""
        return self.packed.vector


@dataclass
class Training:
    """Results of the last train requests.

    Attributes
    ----------
    asked : list
    replies : Checked
    update_norm : float or None
        Median norm of the usable updates; None where there is none, or where they hold more noise than update.
    usual_norm : float or None
        What later rounds are to know of the norms of this one; see `pfedgp_core.learning.influence.Judgement`.
    clipped : dict
        Clients whose update was shortened, and its norm in units of the usual one.
    vectors : VectorStore
        What the clients sent, until the round is over.
    norms : dict
        Of the updates, by client, where uploads minus downloads mean something.
    bytes_received : int
        Of all vectors.
    late : list of str
        Clients whose answer was not waited for (`wait-share`), by name.
    late_updates : int
        Updates of former rounds that came in meanwhile and were not used.
    """

    asked: list[Asked] = field(default_factory=list)
    replies: Checked[TrainReply] = field(default_factory=Checked)
    update_norm: float | None = None
    usual_norm: float | None = None
    clipped: dict[str, float] = field(default_factory=dict)
    vectors: VectorStore = field(default_factory=VectorStore)
    norms: dict[str, float] = field(default_factory=dict)
    bytes_received: int = 0
    late: list[str] = field(default_factory=list)
    late_updates: int = 0

    @property
    def loss(self) -> float | None:
        """Mean of the clients' losses before their updates; None where no client has one."""
        losses = [a.reply.loss for a in self.replies.accepted.values() if a.reply.loss is not None]
        return sum(losses) / len(losses) if losses else None


@dataclass
class Evaluation:
    """Results of the last evaluation, on one split.

    Attributes
    ----------
    split : str
        Empty where there was none.
    asked : list
        Clients that got an evaluate request.
    riding : list
        Clients whose train request asked for the evaluation too.
    able : int
        Connected clients with data of the split, of whom all or some were asked.
    """

    split: str = ""
    asked: list[Asked] = field(default_factory=list)
    riding: list[Asked] = field(default_factory=list)
    replies: Checked[EvaluateReply] = field(default_factory=Checked)
    report: TaskReport = CLASSIFICATION
    able: int = 0

    @property
    def sampled(self) -> bool:
        """Whether some of the clients that could have been asked were, and not all."""
        return len(self.asked) + len(self.riding) < self.able

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that the clients that answered spent on it."""
        return sum(a.reply.seconds.get(CPU, 0.0) for a in self.replies.accepted.values())

    @property
    def claimed(self) -> dict[str, int]:
        """Samples of each client that answered, by its name."""
        return {name: a.reply.sums.n for name, a in self.replies.accepted.items()}

    @property
    def counted(self) -> dict[str, int]:
        """Samples with which each of them counts in what is pooled (`bounded_counts`)."""
        return dict(zip(self.claimed, bounded_counts(list(self.claimed.values())), strict=True))

    @property
    def pooled(self) -> Sums:
        """Sums over the samples of all clients that answered, each with as many as it counts with."""
        total: Any = self.report.sums()
        counted = self.counted
        return sum((a.reply.sums.thinned(counted[name]) for name, a in self.replies.accepted.items()), total)

    @property
    def own_pooled(self) -> Sums:
        """The same, with each sample predicted among its client's own classes alone."""
        total: Any = self.report.sums()
        counted = self.counted
        return sum((a.reply.own_or_all.thinned(counted[name]) for name, a in self.replies.accepted.items()), total)

    @property
    def metrics(self) -> dict[str, float | int | None]:
        """Metrics of the pooled samples; None where there are none."""
        return self.report.summarise(self.pooled)

    @property
    def standard_errors(self) -> dict[str, float]:
        """Of those metrics of a round's validation that have one, where the clients asked were drawn from all."""
        if not self.sampled:
            return {}
        counted, replies = self.counted, self.replies.accepted.items()
        parts = [a.reply.sums.thinned(counted[name]) for name, a in replies]
        metrics = {metric.key: metric.value for metric in self.report.metrics("validation")}
        errors = sampling_errors(metrics, parts, self.report.sums(), self.able)
        if all(a.reply.own is None for _, a in replies):
            return errors
        own = sampling_errors(
            {f"own_{key}": value for key, value in metrics.items()},
            [a.reply.own_or_all.thinned(counted[name]) for name, a in replies],
            self.report.sums(),
            self.able,
        )
        return errors | own

    def choice(self, classes: str) -> tuple[dict[str, float | int | None], dict[str, Measured]]:
        """What decides whether the model is the best one: pooled metrics, and what each client adds, by its name.

        Parameters
        ----------
        classes : str
            Each sample is predicted among ``all`` classes that its client's classifier knows, or the client's ``own``.
        """
        replies = {name: a.reply for name, a in self.replies.accepted.items()}
        if classes == "own":
            own = self.report.measured({name: reply.own_or_all for name, reply in replies.items()})
            return self.report.summarise(self.own_pooled), own
        return self.metrics, self.report.measured({name: reply.sums for name, reply in replies.items()})

    @property
    def means(self) -> dict[str, float | None]:
        """Mean of each client's own metric over the clients that have one, each with weight 1; None without any."""
        measured = [a.reply.sums for a in self.replies.accepted.values()]
        found = {m.key: [v for v in map(m.value, measured) if v is not None] for m in self.report.metrics("client")}
        return {key: fmean(values) if values else None for key, values in found.items()}
