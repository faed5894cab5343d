"""Rules for the topic fedu: local steps from each client's own model, and the server's pull."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from pfedgp.verification.cases.clients import UNCLIPPED, CaseClients
from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.network import named_tensors
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.errors import DataError
from pfedgp_core.learning.coupling import penalty, pulled
from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.model.flat import flatten

__all__ = ["COUPLING_RULES"]


class _Round(CaseClients):
    """A round in which every client has a model of its own."""

    def __init__(self, q: Question) -> None:
        super().__init__(q)
        self.own = {name: named_tensors(self.inputs["start"][name], self.dtype) for name in self.clients}

    @cached_property
    def start(self) -> dict[str, Tensor]:
        """The first client's model; nothing is received from the server."""
        return next(iter(self.own.values()))

    def local(self, name: str) -> np.ndarray:
        """A client's model after its steps; that of an absent one to the bit."""
        network = self.network(self.own[name])
        if name in self.participants:
            parameters = list(network.parameters())
            batches = self.batches(name)[: int(self.inputs.number("local_steps"))]
            optimiser = SGD(parameters, self.inputs.number("lr"), 0.0, 0.0)
            local_sgd(parameters, self.losses(network, name, batches), optimiser, UNCLIPPED, UpdateResult())
        return flatten(list(network.parameters()), self.dtype)

    def graph(self, names: list[str]) -> np.ndarray:
        """The weights between some clients."""
        weights = self.inputs.tensor("adjacency", torch.float64, 2).numpy()
        if weights.shape != (len(self.clients),) * 2:
            raise NotUnderstood("input 'adjacency' does not have a row and a column for each client")
        places = [list(self.clients).index(name) for name in names]
        part: np.ndarray = weights[np.ix_(places, places)]
        return part

    def pulled(self, name: str) -> np.ndarray:
        """A client's model after the server's step."""
        if name not in self.participants:
            return self.local(name)
        models = np.stack([self.local(each) for each in self.participants])
        moved = pulled(models, self.graph(self.participants), self._coefficient())
        after: np.ndarray = moved[self.participants.index(name)]
        return after

    def _coefficient(self) -> float:
        number = self.inputs.number
        made = number("lr") * number("local_steps") * number("eta")
        stated = number("coefficient", made)
        if abs(stated - made) > 1e-9 * abs(made):
            raise DataError(f"The coefficient {stated:g} is not lr x local steps x eta = {made:g}.")
        return stated


def _local(q: Question) -> dict[str, Tensor]:
    played = _Round(q)
    return played.named(played.local(played.client("local_")))


def _pulled(q: Question) -> dict[str, Tensor]:
    played = _Round(q)
    name = played.client("after_server_")
    after = played.named(played.pulled(name))
    if name not in played.participants and any(not after[key].equal(t) for key, t in played.own[name].items()):
        raise DataError(f"The model of client {name!r} changed, which takes no part; leave it to the bit.")
    return after


def _penalty(q: Question) -> float:
    played = _Round(q)
    models = np.stack([played.local(name) for name in played.clients])
    return penalty(models.astype(np.float64), played.graph(list(played.clients)))


COUPLING_RULES = (
    Rule(r"^local ", _local),
    Rule(r"^after server ", _pulled),
    Rule(r"^laplacian penalty of local models$", _penalty),
)
