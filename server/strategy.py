"""The strategy: which clients to ask in a round, and how to use their replies. Arithmetic is in pfedgp_core."""

import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.learning.influence import Influence, model_norm, shortened, update_norm
from pfedgp_core.learning.vector_store import VectorStore
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import check_vector, explained_method
from pfedgp_core.methods.uploads import Uploads
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.encodings import FLOAT32
from pfedgp_core.wire.names import ACCEPTED, EVALUATE, INITIAL, LEFT_OUT, OK, PERSONAL, ROUND, SPLIT, STATUSES, TRAIN
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from pfedgp_core.words import rounded_up
from server.clients.roster import Client, Roster
from server.downloads import Downloads
from server.exchanged import Asked, Evaluation, Training
from server.first_words import say_first
from server.flower.messages import pack_vector, request, unpack_vector
from server.flower.reply_checks import (
    Accepted,
    Checked,
    Update,
    read_evaluate_reply,
    read_riding_evaluation,
    read_train_reply,
)
from server.intake import Intake
from server.novel_clients import without_novel
from server.run.record_lines import WITH_UPDATE
from server.stragglers import Stragglers

__all__ = ["MethodStrategy"]

logger = logging.getLogger("pfedgp.server")


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
    folder : Path, optional
        For updates of a round that are more than memory should hold; see `VectorStore`.
    """

    def __init__(self, settings: Settings, roster: Roster, method: Method, folder: Path | None = None) -> None:
        self.settings, self.roster, self.method, self.folder = settings, roster, method, folder
        self.upload_size = method.upload_size
        self.downloads = Downloads(method, method.initial())
        self.report = task_report(settings.task)
        self.training, self.evaluation = Training(), Evaluation(report=self.report)
        self.influence, self.stragglers = Influence(settings), Stragglers(settings)

    def summary(self) -> None:
        """Log who takes part in what."""
        say_first(self.settings, self.roster, self.method)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Ask ``clients-per-round`` connected clients, drawn without replacement, to train; novel ones are never drawn.

        Where `config` names a split, connected clients that have such data, all or `evaluate-clients` of them, evaluate
        the same arrays as well, as the model of the round before: those that train too ahead of it and in the same
        reply, the others by an evaluate request of their own. That spares an exchange.
        """
        online, split = self.roster.online(), str(config[SPLIT])
        free = self.stragglers.free(without_novel(online, self.settings, self.roster))
        rng = Stream(self.settings.seed, "sample", server_round).numpy
        places = rng.choice(len(free), size=min(self.settings.clients_per_round, len(free)), replace=False)
        drawn = [free[i] for i in sorted(places)]
        measuring, able = self._measuring(split, server_round - 1) if split else ({}, 0)
        self.downloads = Downloads(self.method, unpack_vector(arrays), arrays)
        plain = dict(config) | {SPLIT: ""}
        asked = [self._ask(TRAIN, c, config if c.name in measuring else plain) for c in drawn]
        self.training = Training(asked, vectors=VectorStore(self.folder))
        self.evaluation = Evaluation(report=self.report)
        if split:
            before = dict(config) | {ROUND: server_round - 1}
            names = {client.name for client in drawn}
            self.evaluation = Evaluation(
                split,
                [self._ask(EVALUATE, c, before) for name, c in measuring.items() if name not in names],
                [a for a in asked if a.client.name in measuring],
                report=self.report,
                able=able,
            )
        return [a.message for a in (*self.training.asked, *self.evaluation.asked)]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The method's next state from the usable updates; None in place of the arrays where the state stays as it is.

        A client without an update (a single class, say) has answered as it should: it counts as a result and adds
        nothing to the state. Fewer results than ``min-results`` leave the model as it is. Clients that `Stragglers`
        does not wait for are `late`.
        """
        training, timeout = self.training, self.settings.round_timeout
        trained = Intake(training.asked, self._read_train_reply, timeout)
        measured = self._intakes()
        self.stragglers.watch(trained, measured)
        for reply in replies:
            if (usable := trained.take(reply)) is not None:
                self._store(*usable)
            for intake in measured:
                intake.take(reply)
        training.late, training.late_updates = self.stragglers.leave(), self.stragglers.take_arrived()
        training.replies = checked = trained.checked(training.late)
        self._bound(server_round, checked)
        self._tell_roster(checked)
        if self.evaluation.split:
            self._pool(server_round - 1, *measured)
        enough = len(checked.accepted) >= self.settings.min_results
        for name, accepted in checked.accepted.items():
            if enough:  # else the round is as if it had not been, for what clients keep too
                self.roster.clients[name].trained_in.append(server_round)
            if accepted.reply.status not in (OK, PERSONAL):
                logger.info("round %d: %s: %s", server_round, name, STATUSES[accepted.reply.status])
        metrics = MetricRecord({"ok": len(checked.accepted), "failed": len(checked.failed)})
        uploads = self._uploads(checked)
        try:
            return (pack_vector(self._step(uploads)) if enough and uploads else None), metrics
        finally:
            training.vectors.close()

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Ask connected clients that have data of the split named in `config`.

        Of validation, and of the test before round 1, ``evaluate-clients`` of them.
        """
        split = str(config[SPLIT])
        clients, able = self._measuring(split, server_round, drawn=split != "test" or INITIAL in config)
        self.downloads = Downloads(self.method, unpack_vector(arrays), arrays)
        asked = [self._ask(EVALUATE, client, config) for client in clients.values()]
        self.evaluation = Evaluation(split, asked, report=self.report, able=able)
        return [a.message for a in asked]

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Pool the sums of all clients that answered; None where there are none."""
        measured = self._intakes()
        for reply in replies:
            for intake in measured:
                intake.take(reply)
        return self._pool(server_round, *measured)

    def _measuring(self, split: str, model_round: int, drawn: bool = True) -> tuple[dict[str, Client], int]:
        """Clients that measure the model of a round, by name, and how many could; drawn by run and round alone."""
        able = [client for client in self.roster.online() if client.hello.count(split)]
        if split != "test":
            able = without_novel(able, self.settings, self.roster)
        size, chosen = self.settings.evaluate_clients, able
        if drawn and 0 < size < len(able):
            rng = Stream(self.settings.seed, "tested" if split == "test" else "evaluated", model_round).numpy
            chosen = [able[i] for i in sorted(rng.choice(len(able), size=size, replace=False))]
        return {client.name: client for client in chosen}, len(able)

    def _intakes(self) -> tuple[Intake[EvaluateReply], Intake[EvaluateReply]]:
        """What takes in the evaluation: replies to its own requests, and those in replies to train requests."""
        split, sums, timeout = self.evaluation.split, self.report.sums, self.settings.round_timeout
        own, riding = self.evaluation.asked, self.evaluation.riding
        return (
            Intake(own, lambda m, a: read_evaluate_reply(m, a.client.hello, split, sums), timeout),
            Intake(riding, lambda m, a: read_riding_evaluation(m, a.client.hello, split, sums), timeout),
        )

    def _pool(
        self, server_round: int, asked: Intake[EvaluateReply], riders: Intake[EvaluateReply]
    ) -> MetricRecord | None:
        checked, riding = asked.checked(), riders.checked()
        self._tell_roster(checked)  # of the riding ones, the training has told
        for name, reason in riding.failed.items():
            if self.training.replies.failed.get(name) == reason:  # one failure, not two
                riding.failed[name] = WITH_UPDATE + reason
        # Sums are added in the order of the names, whichever way they came.
        self.evaluation.replies = Checked(
            dict(sorted((checked.accepted | riding.accepted).items())),
            dict(sorted((checked.failed | riding.failed).items())),
        )
        for name, reason in self.evaluation.replies.failed.items():
            logger.warning(
                "round %d: %s is not in the %s numbers: %s", server_round, name, self.evaluation.split, reason
            )
        pooled = self.evaluation.metrics
        return MetricRecord({k: v for k, v in pooled.items() if v is not None}) if pooled["n"] else None

    def _read_train_reply(self, message: Message, asked: Asked) -> Accepted[TrainReply]:
        encoding, hello, packed = self.settings.update_encoding, asked.client.hello, asked.packed
        encoded = encoding != FLOAT32 and self.method.private
        update = Update(encoding, packed.part(packed.vector)) if encoded else None
        size = self.upload_size if packed.own is None else packed.size
        return read_train_reply(message, hello.name, size, hello.n_train, update)

    def _store(self, asked: Asked, accepted: Accepted[TrainReply]) -> None:
        """Measure the update in a reply, and put it where it waits for the others."""
        vector, accepted.vector = accepted.vector, None
        if vector is None:
            return
        name, training = asked.client.name, self.training
        vector = self.downloads.whole(asked.packed, vector, accepted.reply.steps)
        training.bytes_received += accepted.nbytes
        if self.method.private:
            training.norms[name] = update_norm(asked.sent, vector)
        training.vectors.put(name, vector)

    def _bound(self, server_round: int, checked: Checked[TrainReply]) -> None:
        """Shorten updates that are too long, and move replies whose update would drown all others to the failed ones.

        Nothing is done where uploads minus downloads mean nothing to the method.
        """
        names = [name for name in checked.accepted if name in self.training.norms]
        sent = {a.client.name: a.sent for a in self.training.asked}
        norms, counts = self.training.norms, [checked.accepted[name].reply.n_train for name in names]
        judged = self.influence.judge(
            [norms[name] for name in names], model_norm(sent[name] for name in names), self.upload_size, counts
        )
        vectors = self.training.vectors
        for i, factor in judged.factors.items():
            vectors.put(names[i], shortened(sent[names[i]], vectors.get(names[i]), factor))
            self.training.clipped[names[i]] = float(judged.multiples[i])
        for i in judged.refused:
            del checked.accepted[names[i]]
            checked.failed[names[i]] = "the update's norm is implausibly large"
            needed, remedy = float(judged.needed[i]), "no setting lets such an update in"
            if math.isfinite(needed):
                remedy = f"only where it means well and goes on so, set max-update-norm to {rounded_up(needed)} or more"
            logger.warning(
                "round %d: %s sent an update of %.3g times the usual norm: it is not used (max-update-norm = %g); ask "
                "the site, and %s",
                *(server_round, names[i], judged.multiples[i], self.settings.max_update_norm, remedy),
            )
        kept = np.delete(judged.norms, judged.refused)
        if len(kept) and self.settings.dp_noise == 0:
            self.training.update_norm = float(np.median(kept))
        self.training.usual_norm = judged.usual

    def _step(self, uploads: Uploads) -> np.ndarray:
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

    def _uploads(self, checked: Checked[TrainReply]) -> Uploads:
        """What there is for the method's step, in the order of the clients' names."""
        training = self.training
        counts = {n: a.reply.n_train for n, a in checked.accepted.items() if n in training.vectors}
        return Uploads(training.vectors, {a.client.name: a.sent for a in training.asked}, counts)

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

    def _ask(self, kind: str, client: Client, config: Mapping[str, Any]) -> Asked:
        """A request to a client, which names the last of its updates that the model in it may know of."""
        model_round = int(config[ROUND]) - (kind == TRAIN)
        own = dict(config) | {ACCEPTED: client.accepted(model_round)}
        if config[SPLIT] not in ("", "validation") and INITIAL not in config and not client.trained_in:
            own[LEFT_OUT] = 1  # its training data have not trained the features that predict them
        packed = self.downloads.of(client.name, client.hello.classes)
        message = request(kind, client.node_id, own, packed, self.settings.round_timeout)
        return Asked(client, message, packed)
