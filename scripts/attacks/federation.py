"""A federation in this process, some of whose sites attack it: the product's methods, bound and averages."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.learning.aggregation import usual_of
from pfedgp_core.learning.influence import Influence, model_norm, shortened, update_norm
from pfedgp_core.learning.privacy import private_update
from pfedgp_core.methods.base import Update, Upload
from pfedgp_core.methods.make import make_method
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.numerics.streams import Stream
from scripts.attacks.kinds import ATTACKS, TARGET, Moment, triggered

__all__ = ["ALL", "FIRST", "Outcome", "attacked"]

ALL = "all"
FIRST = "first"  # the attackers attack once, as soon as one is drawn and its attack is one
FORGED = 100_000  # times its samples that an attacker claims


@dataclass
class Outcome:
    """What is left of a federation after its last round.

    Attributes
    ----------
    score : float
        The task's score of the final model on all test samples of the sites that do not attack: accuracy, or of a
        regression the error in deviations of the targets.
    backdoor : float
        Share of the test samples of other classes that these sites take for the target class where the trigger is in
        them; of sites that have that class, and after this attack alone.
    updates : int
        How many were judged.
    largest : float
        The longest of them, in usual norms.
    clipped, refused : Counter
        Rounds by client.
    """

    score: float = 0.0
    backdoor: float = 0.0
    updates: int = 0
    largest: float = 0.0
    clipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def attacked(
    settings: Settings,
    attack: str = "",
    attackers: Collection[int] = (),
    rounds: str = FIRST,
) -> Outcome:
    """Run a federation to its last round.

    Parameters
    ----------
    settings : Settings
    attack : str
        A name in `ATTACKS`; empty: nobody attacks.
    attackers : collection of int
        Numbers of the clients that do. They are left out of the results, also where nobody attacks.
    rounds : str
        `FIRST` or `ALL`.
    """
    federation = _Federation(settings)
    outcome, done = federation.outcome, not attack
    for t in range(1, settings.rounds + 1):
        drawn = federation.drawn(t)
        early = rounds == FIRST and attack and t < ATTACKS[attack].first
        wrong = set() if done or early else drawn.intersection(attackers)
        done = done or (rounds == FIRST and bool(wrong))
        federation.round(t, drawn, attack, wrong)
    measured = [i for i in range(settings.clients) if i not in attackers]
    outcome.score = federation.score(measured)
    if attack == "backdoor":
        outcome.backdoor = federation.fooled(measured)
    return outcome


class _Federation:
    """The clients, what they keep, and the server's state.

    Parameters
    ----------
    settings : Settings
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.outcome = settings, Outcome()
        self.clients = [simulated_client(settings, i) for i in range(settings.clients)]
        shape = tuple(self.clients[0].train.inputs.shape[1:])
        self.method = make_method(settings, shape, len(self.clients[0].class_names))
        self.state = self.first = self.method.initial()
        self._influence, self._usual = Influence(settings), 0.0
        self._kept: dict[int, np.ndarray] = {}

    def drawn(self, t: int) -> set[int]:
        """The clients of a round."""
        settings = self.settings
        rng = Stream(settings.seed, "sample", t).numpy
        return set(rng.choice(settings.clients, size=settings.clients_per_round, replace=False).tolist())

    def round(self, t: int, drawn: set[int], attack: str, wrong: set[int]) -> None:
        """Let the clients train or attack, judge what they send, and take the server's step."""
        moments = {i: self._moment(t, i) for i in sorted(drawn)}
        updates = {i: moments[i].update() for i in moments if i not in wrong}
        vectors = {i: vector for i, update in updates.items() if (vector := self._sent(update)) is not None}
        norms = [update_norm(self.state, vector) for vector in vectors.values()]
        self._usual = usual_of(np.array(norms)) if norms else self._usual
        if wrong:
            others = np.mean(list(vectors.values()), axis=0, dtype=np.float64).astype(np.float32) if vectors else None
            for i in wrong:
                usual = self._usual or update_norm(self.state, moments[i].trained())
                vectors[i] = ATTACKS[attack].vector(replace(moments[i], usual=usual, others=others))
        forged = {i: FORGED if i in wrong else 1 for i in moments}
        uploads = [
            Upload(self.clients[i].name, vectors[i], self.state, len(self.clients[i].train) * forged[i])
            for i in moments
            if i in vectors
        ]
        used = self._judged(uploads)
        if used:
            self.state = self.method.step(self.state, used)
        accepted = {upload.client for upload in used}
        for i, update in updates.items():
            if update.keep is not None and (i not in vectors or self.clients[i].name in accepted):
                self._kept[i] = update.keep

    def score(self, clients: list[int]) -> float:
        """The task's score of the model, on the test data of these clients."""
        settings, total = self.settings, None
        for i in clients:
            data = self.clients[i]
            stream = Stream(settings.seed, "evaluate", "test", settings.rounds, data.name)
            sums = self.method.evaluate(self.state, self._kept.get(i), data, "test", stream).sums
            total = sums if total is None else total + sums
        assert total is not None
        return float(summarise(total)[task_report(settings.task).score] or 0.0)

    def fooled(self, clients: list[int]) -> float:
        """The backdoor's success at these clients."""
        settings, fooled, tried = self.settings, 0, 0
        for i in clients:
            data = self.clients[i]
            stream = Stream(settings.seed, "evaluate", "test", settings.rounds, data.name)
            predictor = self.method.personal(self.state, self._kept.get(i), data.train, stream)
            if TARGET not in predictor.classes_:
                continue
            others = data.test.inputs[data.test.labels != TARGET]
            taken = predictor.classes_[predictor.predict_proba(triggered(others)).argmax(axis=1)]
            fooled, tried = fooled + int(np.sum(taken == TARGET)), tried + len(others)
        return fooled / max(1, tried)

    def _moment(self, t: int, i: int) -> Moment:
        data = self.clients[i]
        stream = Stream(self.settings.seed, "train", t, data.name)
        return Moment(self.settings, self.method, self.state, self.first, data, stream, self._kept.get(i))

    def _sent(self, update: Update) -> np.ndarray | None:
        """What an honest client sends, with the noise that the settings ask for."""
        if update.upload is None or self.settings.dp_noise == 0:
            return update.upload
        return private_update(self.settings, update.result, self.state, update.upload)[1]

    def _judged(self, uploads: list[Upload]) -> list[Upload]:
        """The uploads as they are used."""
        if not self.method.private:
            return uploads
        norms = [update_norm(u.sent, u.vector) for u in uploads]
        judged = self._influence.judge(norms, model_norm([self.state]), len(self.state), [u.n_train for u in uploads])
        outcome = self.outcome
        outcome.clipped.update(uploads[i].client for i in judged.factors)
        outcome.refused.update(uploads[i].client for i in judged.refused)
        outcome.updates += len(uploads)
        outcome.largest = max(outcome.largest, *map(float, judged.multiples))
        return [
            upload._replace(vector=shortened(upload.sent, upload.vector, judged.factors[i]))
            if i in judged.factors
            else upload
            for i, upload in enumerate(uploads)
            if i not in judged.refused
        ]
