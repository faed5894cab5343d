"""The strategy: which clients to ask in a round, and how to use their replies. Arithmetic is in pfedgp_core."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError, RunFailedError
from pfedgp_core.learning.influence import Influence
from pfedgp_core.methods.base import Method, Upload
from pfedgp_core.methods.make import check_vector, explained_method
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import ACCEPTED, EVALUATE, OK, PERSONAL, ROUND, SPLIT, STATUSES, TRAIN
from pfedgp_core.wire.replies import TrainReply
from server.clients.roster import Client, Roster
from server.downloads import Downloads
from server.exchanged import Asked, Evaluation, Training
from server.flower.messages import pack_vector, request, unpack_vector
from server.flower.reply_checks import (
    Accepted,
    Checked,
    Reply,
    read_evaluate_reply,
    read_riding_evaluation,
    read_train_reply,
)
from server.weights import doubtful_claims

__all__ = ["WITH_UPDATE", "MethodStrategy"]

logger = logging.getLogger("pfedgp.server")

WITH_UPDATE = "with its update: "  # why an evaluation is missing whose train request failed as a whole


class MethodStrategy(Strategy):
    """Flower's five questions, answered for any federated method. Its arrays are the server's state, one vector.

    Clients are sampled and their replies are ordered by name, never by node id or arrival, so that one seed gives one
    result to the last bit. After ``aggregate_*`` the attributes `training` and `evaluation` hold the details.

    Parameters
    ----------
    settings : Settings
    roster : Roster
        The clients; the strategy asks those that are connected.
    method : Method
    """

    def __init__(self, settings: Settings, roster: Roster, method: Method) -> None:
        self.settings, self.roster, self.method = settings, roster, method
        self.upload_size = method.upload_size
        self.downloads = Downloads(method, method.initial())
        self.report = task_report(settings.task)
        self.training, self.evaluation = Training(), Evaluation(report=self.report)
        self.influence = Influence(settings)

    def summary(self) -> None:
        """Log who takes part in what."""
        clients = self.roster.all
        samples = [sum(getattr(c.hello, f"n_{split}") for c in clients) for split in ("train", "validation", "test")]
        logger.info(
            "%d clients with %d training, %d validation and %d test samples; %d shared values (%.1f MB a message)",
            *(len(clients), *samples, self.upload_size, 4e-6 * self.upload_size),
        )
        for split, words in (("train", "training"), ("validation", "validation"), ("test", "test")):
            for doubt in doubtful_claims(words, {c.name: getattr(c.hello, f"n_{split}") for c in clients}):
                logger.warning("%s", doubt)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Ask ``clients-per-round`` connected clients, drawn without replacement, to train.

        Where `config` names a split, all connected clients that have such data evaluate the same arrays as well, as the
        model of the round before: those drawn ahead of their training and in the same reply, the others by an evaluate
        request of their own. That spares an exchange.
        """
        online, split = self.roster.online(), str(config[SPLIT])
        rng = Stream(self.settings.seed, "sample", server_round).numpy
        places = rng.choice(len(online), size=min(self.settings.clients_per_round, len(online)), replace=False)
        drawn = [online[i] for i in sorted(places)]
        self.downloads = Downloads(self.method, unpack_vector(arrays), arrays)
        plain = ConfigRecord(dict(config) | {SPLIT: ""})
        asked = [self._ask(TRAIN, c, config if split and c.hello.count(split) else plain) for c in drawn]
        self.training = Training(asked)
        self.evaluation = Evaluation(report=self.report)
        if split:
            before = ConfigRecord(dict(config) | {ROUND: server_round - 1})
            names = {client.name for client in drawn}
            others = [c for c in online if c.name not in names and c.hello.count(split)]
            self.evaluation = Evaluation(
                split,
                [self._ask(EVALUATE, c, before) for c in others],
                [a for a in asked if a.client.hello.count(split)],
                report=self.report,
            )
        return [a.message for a in (*self.training.asked, *self.evaluation.asked)]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The method's next state from the usable updates; None in place of the arrays where the state stays as it is.

        A client without an update (a single class, say) has answered as it should: it counts as a result and adds
        nothing to the state. Fewer results than ``min-results`` leave the model as it is.
        """
        replies = list(replies)
        checked = self._check(
            replies, self.training.asked, lambda m, c: read_train_reply(m, c.name, self.upload_size, c.hello.n_train)
        )
        self._bound(server_round, checked)
        self.training.replies = checked
        self._tell_roster(checked)
        if self.evaluation.split:
            self.aggregate_evaluate(server_round - 1, replies)
        enough = len(checked.accepted) >= self.settings.min_results
        for name, accepted in checked.accepted.items():
            if enough:  # else the round is as if it had not been, for what clients keep too
                self.roster.clients[name].trained_in.append(server_round)
            if accepted.reply.status not in (OK, PERSONAL):
                logger.info("round %d: %s: %s", server_round, name, STATUSES[accepted.reply.status])
        metrics = MetricRecord({"ok": len(checked.accepted), "failed": len(checked.failed)})
        uploads = self._uploads(checked)
        if not enough or not uploads:
            return None, metrics
        return pack_vector(self._step(uploads)), metrics

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Ask every connected client that has data of the split named in `config`."""
        split = str(config[SPLIT])
        clients = [client for client in self.roster.online() if client.hello.count(split)]
        self.downloads = Downloads(self.method, unpack_vector(arrays), arrays)
        self.evaluation = Evaluation(split, [self._ask(EVALUATE, c, config) for c in clients], report=self.report)
        return [a.message for a in self.evaluation.asked]

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Pool the sums of all clients that answered; None where there are none."""
        split, sums, replies = self.evaluation.split, self.report.sums, list(replies)
        checked = self._check(replies, self.evaluation.asked, lambda m, c: read_evaluate_reply(m, c.hello, split, sums))
        self._tell_roster(checked)  # of the riding ones, the training has told
        riding = self._check(
            replies, self.evaluation.riding, lambda m, c: read_riding_evaluation(m, c.hello, split, sums)
        )
        for name, reason in riding.failed.items():
            if self.training.replies.failed.get(name) == reason:  # one failure, not two
                riding.failed[name] = WITH_UPDATE + reason
        # Sums are added in the order of the names, whichever way they came.
        self.evaluation.replies = Checked(
            dict(sorted((checked.accepted | riding.accepted).items())),
            dict(sorted((checked.failed | riding.failed).items())),
        )
        for name, reason in self.evaluation.replies.failed.items():
            logger.warning("round %d: %s is not in the %s numbers: %s", server_round, name, split, reason)
        pooled = self.evaluation.metrics
        return MetricRecord({k: v for k, v in pooled.items() if v is not None}) if pooled["n"] else None

    def _bound(self, server_round: int, checked: Checked[TrainReply]) -> None:
        """Shorten updates that are too long, and move replies whose update would drown all others to the failed ones.

        Nothing is done where uploads minus downloads mean nothing to the method.
        """
        uploads = self._uploads(checked) if self.method.private else []
        judged = self.influence.judge(
            [u.sent for u in uploads], [u.vector for u in uploads], [u.n_train for u in uploads]
        )
        for i, vector in judged.clipped.items():
            checked.accepted[uploads[i].client].vector = vector
            self.training.clipped[uploads[i].client] = float(judged.multiples[i])
        for i in judged.refused:
            name = uploads[i].client
            del checked.accepted[name]
            checked.failed[name] = "the update's norm is implausibly large"
            logger.warning(
                "round %d: %s sent an update of %.3g times the usual norm: it is not used (max-update-norm = %g)",
                *(server_round, name, judged.multiples[i], self.settings.max_update_norm),
            )
        kept = np.delete(judged.norms, judged.refused)
        if len(kept) and self.settings.dp_noise == 0:
            self.training.update_norm = float(np.median(kept))
        self.training.usual_norm = judged.usual

    def _step(self, uploads: list[Upload]) -> np.ndarray:
        """The method's next state; RunFailedError where it is none that could be kept."""
        state = self.downloads.state
        with explained_method(self.settings.method, "step"):
            following = self.method.step(state, uploads)
        check_vector(self.settings.method, "step", following)
        if following.shape != state.shape:
            raise RunFailedError(
                f"The step of method = {self.settings.method!r} made {len(following)} values of a state of "
                f"{len(state)}: it must keep the length."
            )
        return following

    def _uploads(self, checked: Checked[TrainReply]) -> list[Upload]:
        """What there is for the method's step, in the order of the clients' names."""
        sent = {a.client.name: a.sent for a in self.training.asked}
        return [
            Upload(name, accepted.vector, sent[name], accepted.reply.n_train)
            for name, accepted in checked.accepted.items()
            if accepted.vector is not None
        ]

    def _tell_roster(self, checked: Checked[Any]) -> None:
        """Let the roster know who answered as it should, who did not, and who did not at all."""
        for name in checked.accepted:
            self.roster.answering.succeeded(name)
        for name, reason in checked.failed.items():
            if name in checked.silent:
                self.roster.answering.silent(name)
            elif not reason.isidentifier():  # the type of an error of its own, which its log has
                self.roster.tell(name, f"a reply of {name} is not used: {reason}")
            self.roster.answering.failed(name, reason, anew=self.roster.own_data)

    def _ask(self, kind: str, client: Client, config: ConfigRecord) -> Asked:
        """A request to a client, which names the last of its updates that the model in it may know of."""
        model_round = int(config[ROUND]) - (kind == TRAIN)  # type: ignore[arg-type]
        own = ConfigRecord(dict(config) | {ACCEPTED: client.accepted(model_round)})
        packed = self.downloads.of(client.name)
        message = request(kind, client.node_id, own, packed, self.settings.round_timeout)
        return Asked(client, message, packed.vector)

    def _check(
        self, replies: Iterable[Message], asked: list[Asked], read: Callable[[Message, Client], Accepted[Reply]]
    ) -> Checked[Reply]:
        """Sort replies into usable and failed ones; a client that was asked and did not answer has failed."""
        # By the request's id, because an error reply that the SuperLink makes does not carry the client's node id.
        answers = {reply.metadata.reply_to_message_id: reply for reply in replies}
        checked: Checked[Reply] = Checked()
        for client, message, _ in asked:
            reply = answers.get(message.metadata.message_id)
            try:
                if reply is None or (reply.has_error() and reply.error.code == ErrorCode.MESSAGE_UNAVAILABLE):
                    # Without a word, or with the SuperLink's that the request has expired.
                    checked.silent.add(client.name)
                    raise DataError(f"no reply within {self.settings.round_timeout:g} s")
                checked.accepted[client.name] = read(reply, client)
            except DataError as error:
                checked.failed[client.name] = str(error)
            except Exception as error:  # whatever a reply holds, it costs its sender alone
                logger.exception("the reply of %s broke a check", client.name)
                checked.failed[client.name] = f"a reply that cannot be read ({type(error).__name__})"
        return checked
