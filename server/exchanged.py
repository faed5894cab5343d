"""Results of an exchange with the clients: a round of training, an evaluation."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from flwr.app import Message

from pfedgp_core.metrics.task_report import CLASSIFICATION, Sums, TaskReport
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from server.clients.roster import Client
from server.flower.reply_checks import Checked

__all__ = ["Asked", "Evaluation", "Training"]


class Asked(NamedTuple):
    """A client, its request, and the vector in that."""

    client: Client
    message: Message
    sent: np.ndarray


@dataclass
class Training:
    """Results of the last train requests.

    Attributes
    ----------
    asked : list
    replies : Checked
    update_norm : float or None
        Median norm of the usable updates; None where there is none, or where they hold more noise than update.
    """

    asked: list[Asked] = field(default_factory=list)
    replies: Checked[TrainReply] = field(default_factory=Checked)
    update_norm: float | None = None

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
    """

    split: str = ""
    asked: list[Asked] = field(default_factory=list)
    riding: list[Asked] = field(default_factory=list)
    replies: Checked[EvaluateReply] = field(default_factory=Checked)
    report: TaskReport = CLASSIFICATION

    @property
    def pooled(self) -> Sums:
        """Sums over all samples of all clients that answered."""
        total: Any = self.report.sums()
        return sum((a.reply.sums for a in self.replies.accepted.values()), total)

    @property
    def own_pooled(self) -> Sums:
        """Sums over all samples, each predicted among its client's own classes alone."""
        total: Any = self.report.sums()
        return sum((a.reply.own_or_all for a in self.replies.accepted.values()), total)

    @property
    def metrics(self) -> dict[str, float | int | None]:
        """Metrics of the pooled samples; None where there are none."""
        return self.report.summarise(self.pooled)
