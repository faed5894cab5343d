"""A federation in this process, some of whose sites attack it: the product's methods, bound and averages."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.learning.aggregation import usual_of
from pfedgp_core.learning.influence import Influence, model_norm, shortened, update_norm
from pfedgp_core.methods.base import Method, Upload
from pfedgp_core.methods.make import make_method
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.numerics.streams import Stream
from scripts.attacks.kinds import ATTACKS, TARGET, Moment, triggered

__all__ = ["ALL", "FIRST", "Outcome", "attacked"]

ALL = "all"
FIRST = "first"  # the attackers attack once, in the first round in which their attack is one
FORGED = 100_000  # times its samples that an attacker claims


@dataclass
class Outcome:
    """What is left of a federation after its last round.

    Attributes
    ----------
    accuracy : float
        Of the final model on all test samples of the sites that do not attack.
    backdoor : float
        Share of the test samples of other classes that these sites take for the target class where the trigger is in
        them; of sites that have that class.
    clipped, refused : Counter
        Rounds by client.
    """

    accuracy: float
    backdoor: float
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
    clients = [simulated_client(settings, i) for i in range(settings.clients)]
    method = make_method(settings, tuple(clients[0].train.inputs.shape[1:]), len(clients[0].class_names))
    influence, state, first = Influence(settings), method.initial(), method.initial()
    clipped: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for t in range(1, settings.rounds + 1):
        drawn = Stream(settings.seed, "sample", t).numpy.choice(
            settings.clients, size=settings.clients_per_round, replace=False
        )
        moments = {
            i: Moment(settings, method, state, first, clients[i], Stream(settings.seed, "train", t, clients[i].name))
            for i in sorted(drawn.tolist())
        }
        attacking = bool(attack) and (rounds == ALL or t == ATTACKS[attack].first)
        wrong = {i for i in moments if attacking and i in attackers}
        vectors = {i: moments[i].honest() for i in moments if i not in wrong}
        usual = usual_of(np.array([update_norm(state, vector) for vector in vectors.values()]))
        vectors |= {i: ATTACKS[attack].vector(replace(moments[i], usual=usual)) for i in wrong}
        uploads = [
            Upload(clients[i].name, vectors[i], state, len(clients[i].train) * (FORGED if i in wrong else 1))
            for i in moments
        ]
        norms = [update_norm(u.sent, u.vector) for u in uploads]
        judged = influence.judge(norms, model_norm([state]), len(state), [u.n_train for u in uploads])
        clipped.update(uploads[i].client for i in judged.factors)
        refused.update(uploads[i].client for i in judged.refused)
        used = [
            upload._replace(vector=shortened(upload.sent, upload.vector, judged.factors[i]))
            if i in judged.factors
            else upload
            for i, upload in enumerate(uploads)
            if i not in judged.refused
        ]
        if used:
            state = method.step(state, used)
    measured = [clients[i] for i in range(settings.clients) if i not in attackers]
    return Outcome(*_results(settings, method, state, measured), clipped, refused)


def _results(settings: Settings, method: Method, state: np.ndarray, clients: list[ClientData]) -> tuple[float, float]:
    """Accuracy and the backdoor's success of a model."""
    total, fooled, tried = None, 0, 0
    for data in clients:
        stream = Stream(settings.seed, "evaluate", "test", settings.rounds, data.name)
        sums = method.evaluate(state, None, data, "test", stream).sums
        total = sums if total is None else total + sums
        predictor = method.personal(state, None, data.train, stream)
        if TARGET not in predictor.classes_:
            continue
        others = data.test.inputs[data.test.labels != TARGET]
        taken = predictor.classes_[predictor.predict_proba(triggered(others)).argmax(axis=1)]
        fooled, tried = fooled + int(np.sum(taken == TARGET)), tried + len(others)
    return float(summarise(total)["accuracy"]), fooled / max(1, tried)
