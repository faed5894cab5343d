"""Rules for the topics pfedme and pfedme_prox: a round of pFedMe, and its inner problem in closed form."""

from typing import Any

import torch
from torch import Tensor

from pfedgp.verification.cases.clients import UNCLIPPED, CaseClients, named_values
from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.network import CaseNetwork
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.learning.moreau import Envelope, moreau_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.pfedme import mixed
from pfedgp_core.model.flat import flatten

__all__ = ["MOREAU_RULES", "PROX_RULES"]

TO_THE_END = 5000  # inner steps after which the quadratic problem is solved to rounding


def _visit(played: CaseClients, name: str, iterations: int | None = None) -> tuple[CaseNetwork, list[Tensor]]:
    """A client's network at theta, and its w, after all batches or the first ones."""
    inputs, network = played.inputs, played.network()
    envelope = Envelope(
        inputs.number("lam"),
        int(inputs.number("K")),
        inputs.number("personal_lr"),
        inputs.number("local_lr"),
        inputs.number("mu", 0.0),
    )
    batches = played.batches(name)[: int(inputs.number("R")) if iterations is None else iterations]
    losses = played.losses(network, name, batches)
    return network, moreau_sgd(list(network.parameters()), losses, envelope, UNCLIPPED, UpdateResult())


def _theta(q: Question) -> dict[str, Tensor]:
    played = CaseClients(q)
    return named_values(_visit(played, played.client("theta_"))[0])


def _w(q: Question) -> dict[str, Tensor]:
    played = CaseClients(q)
    name = played.client("w_local_after_first_iteration_", "w_local_")
    network, w = _visit(played, name, 1 if "first iteration" in q.head else None)
    return named_values(network, w)


def _server(q: Question) -> dict[str, Tensor]:
    played = CaseClients(q)
    mean = played.mean([_visit(played, name)[1] for name in played.participants])
    before = flatten(list(played.network().parameters()), played.dtype)
    return played.named(mixed(before, mean, played.inputs.number("beta", 1.0)))


def _prox(q: Question) -> tuple[Tensor, Tensor, float]:
    """theta after many of the product's inner steps, the step of w towards it for a rate of 1, and the envelope."""
    if "mean((X theta - y)^2)" not in str(q.inputs.values.get("loss", "")):
        raise NotUnderstood("the loss is not 0.5*mean((X theta - y)^2)")
    dtype, strength = q.workspace.dtype, q.inputs.number("lam")
    X, y, w = (q.inputs.tensor(name, dtype, ndim) for name, ndim in (("X", 2), ("y", 1), ("w", 1)))
    theta = w.clone().requires_grad_()

    def loss() -> Tensor:
        return 0.5 * (X @ theta - y).square().mean()

    steepest = float(torch.linalg.eigvalsh(X.T @ X / len(y)).max())
    envelope = Envelope(strength, TO_THE_END, 1 / (steepest + strength), 1.0)
    (after,) = moreau_sgd([theta], [loss], envelope, UNCLIPPED, UpdateResult())
    found = theta.detach()
    return found, w - after, loss().item() + 0.5 * strength * float((found - w).square().sum())


def _of_prox(part: int) -> Any:
    return lambda q: _prox(q)[part]


MOREAU_RULES = (
    Rule(r"^theta ", _theta),
    Rule(r"^w local ", _w),
    Rule(r"^server$", _server),
)
PROX_RULES = (
    Rule(r"^theta exact$", _of_prox(0)),
    Rule(r"^envelope gradient$", _of_prox(1)),
    Rule(r"^envelope$", _of_prox(2)),
)
