"""Rules for the topic fola: a round of the online Laplace approximation."""

from functools import cached_property

import numpy as np
from torch import Tensor

from pfedgp.verification.cases.clients import UNCLIPPED, CaseClients, named_values
from pfedgp.verification.cases.network import CaseNetwork, named_tensors
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.learning.online_laplace import Gaussian, LaplaceSGD, Prior, Weighted, laplace_sgd, product
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.model.flat import flatten

__all__ = ["LAPLACE_RULES"]


class _Round(CaseClients):
    """A round from the server's Gaussian; the server's rule is that of the official code."""

    @cached_property
    def precision(self) -> dict[str, Tensor]:
        return named_tensors(self.inputs["server_precision"], self.dtype)

    def visit(self, name: str) -> tuple[CaseNetwork, LaplaceSGD]:
        """A client's network and optimiser after its steps."""
        inputs, network = self.inputs, self.network()
        strength = inputs.number("lam") / inputs.number("round")
        parameters = dict(network.named_parameters())
        prior = Prior([self.start[n] for n in parameters], [self.precision[n] for n in parameters], strength)
        optimiser = LaplaceSGD(list(parameters.values()), prior, inputs.number("lr"))
        batches = self.batches(name)
        losses = self.losses(network, name, batches)
        samples = len(self.data(name))
        weighed = [Weighted(len(rows) / samples, loss) for rows, loss in zip(batches, losses, strict=True)]
        laplace_sgd(list(parameters.values()), weighed, optimiser, UNCLIPPED, UpdateResult())
        return network, optimiser

    def server(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and precision of the server."""
        counts = {name: self.clients[name].number("n") for name in self.participants}
        made = []
        for name in self.participants:
            network, optimiser = self.visit(name)
            both = (flatten(list(each), self.dtype) for each in (network.parameters(), optimiser.precisions))
            made.append(Gaussian(counts[name] / sum(counts.values()), *both))
        return product(made, self.inputs.number("eps"), False)


def _theta(q: Question) -> dict[str, Tensor]:
    played = _Round(q)
    return named_values(played.visit(played.client("theta_"))[0])


def _precision(q: Question) -> dict[str, Tensor]:
    played = _Round(q)
    network, optimiser = played.visit(played.client("precision_"))
    return named_values(network, optimiser.precisions)


def _prior_loss(q: Question) -> float:
    played = _Round(q)
    return played.visit(played.client("prior_loss_"))[1].penalty()


def _server(part: int, q: Question) -> dict[str, Tensor]:
    played = _Round(q)
    return played.named(played.server()[part])


LAPLACE_RULES = (
    Rule(r"^theta ", _theta),
    Rule(r"^precision ", _precision),
    Rule(r"^prior loss ", _prior_loss),
    Rule(r"^server mean$", lambda q: _server(0, q)),
    Rule(r"^server precision$", lambda q: _server(1, q)),
)
