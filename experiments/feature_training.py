"""How the features of `features_and_heads.py` are trained: the runs, and one of them from its first round to its last.

Clients and server are the product's own mathematics in one process, without Flower's engine.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import make_method
from pfedgp_core.methods.uploads import Upload
from pfedgp_core.numerics.streams import Stream

__all__ = ["RUNS", "Trained", "trained"]

MEMORY = 0.95  # of the running average of the server's states


@dataclass(frozen=True)
class Run:
    """One way to train features.

    Attributes
    ----------
    changes : dict
        Of the settings, snake_case.
    make : callable
        Makes the method of (settings, input shape, classes).
    server_momentum : float
        FedAvgM (Hsu et al. 2019): m <- b m + mean update, w <- w + m.
    cosine : bool
        The clients' step size falls to 0 over the run as a half cosine.
    """

    changes: dict[str, Any] = field(default_factory=dict)
    make: Callable[[Settings, tuple[int, ...], int], Method] = make_method
    server_momentum: float = 0.0
    cosine: bool = False


PREDICTIVE: dict[str, Any] = {"local_epochs": 3}
LOO: dict[str, Any] = {"local_epochs": 3, "objective": "loo"}
FEDAVG: dict[str, Any] = {"method": "fedavg", "momentum": 0.0}  # plain SGD: momentum 0.9 makes its network a constant
RUNS = {
    "fedavg": Run(FEDAVG),
    "predictive": Run(PREDICTIVE),
    "loo": Run(LOO),
    "loo, step 0.1": Run(LOO | {"learning_rate": 0.1}),
    "loo, server momentum 0.8": Run(LOO, server_momentum=0.8),
    "loo, 6 steps": Run(LOO | {"local_epochs": 6}),
    "fedavg, server momentum 0.8": Run(FEDAVG, server_momentum=0.8),
    "predictive, server momentum 0.8": Run(PREDICTIVE, server_momentum=0.8),
    "predictive, cosine": Run(PREDICTIVE | {"learning_rate": 0.1}, cosine=True),
    "loo, 6 steps, cosine": Run(LOO | {"local_epochs": 6, "learning_rate": 0.1}, cosine=True),
    "fedavg, momentum 0.9, step 0.02": Run({"method": "fedavg", "learning_rate": 0.02}),
    "loo, cosine": Run(LOO | {"learning_rate": 0.1}, cosine=True),
    "fedavg, cosine": Run(FEDAVG | {"learning_rate": 0.1}, cosine=True),
    "one step": Run({}),
    "one step, loo": Run({"objective": "loo"}),
    "marginal": Run(PREDICTIVE | {"objective": "marginal"}),
    "fedper": Run(FEDAVG | {"method": "fedper"}),
}


class Trained(NamedTuple):
    """Where a run is after some round.

    Attributes
    ----------
    round : int
    states : dict of str to float32 array
        ``last``, and ``averaged``: a running mean over the rounds.
    method : Method
    kept : dict of str to float32 array
        What clients keep, by name.
    cpu : float
        Seconds of training, without data and evaluation.
    bytes : int
        Of all vectors, both ways.
    drawn : set of int
        Clients that have trained, by number.
    """

    round: int
    states: dict[str, np.ndarray]
    method: Method
    kept: dict[str, np.ndarray]
    cpu: float
    bytes: int
    drawn: frozenset[int]


def trained(run: Run, base: Settings, classes: int, at: Sequence[int], unseen: int = 0) -> Iterator[Trained]:
    """Train to the last round of `at`, and stop after each of them.

    Parameters
    ----------
    run : Run
    base : Settings
        Of the data, of all clients and of what the run does not change.
    classes : int
        Of the federation.
    at : sequence of int
    unseen : int
        Clients, the last ones, that never train.
    """
    settings, seed = base.replace(**run.changes), base.seed
    shape = tuple(simulated_client(base, 0).train.inputs.shape[1:])
    method = run.make(settings, shape, classes)
    state = method.initial()
    speed, average = np.zeros_like(state), state.copy()
    seconds, sent, kept, drawn = 0.0, 0, dict[str, np.ndarray](), set[int]()
    for number in range(1, max(at) + 1):
        if run.cosine:
            share = 0.5 * (1 + math.cos(math.pi * (number - 1) / max(at)))
            method.settings = settings.replace(learning_rate=max(1e-6, settings.learning_rate * share))
        rng, training = Stream(seed, "sampled", number).numpy, base.clients - unseen
        places = sorted(map(int, rng.choice(training, base.clients_per_round, replace=False)))
        clients, drawn = [simulated_client(base, i) for i in places], drawn.union(places)
        start = time.process_time()
        uploads = []
        for client in clients:
            received = method.download(state, client.name)
            stream = Stream(seed, "train", number, client.name)
            update = method.update(received, kept.get(client.name), client.train, stream)
            if update.keep is not None:
                kept[client.name] = update.keep
            if update.upload is not None:
                uploads.append(Upload(client.name, update.upload, received, len(client.train.labels)))
                sent += received.nbytes + update.upload.nbytes
        speed = run.server_momentum * speed + (method.step(state, uploads) - state)
        state = (state + speed).astype(np.float32)
        seconds += time.process_time() - start
        average += (1 - min(MEMORY, number / (number + 10))) * (state - average)
        if number in at:
            states = {"last": state, "averaged": average.astype(np.float32)}
            yield Trained(number, states, method, kept, seconds, sent, frozenset(drawn))
