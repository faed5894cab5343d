"""Rules for the topic peravg: a round of Per-FedAvg in its three forms, and the step of personalisation."""

import re

import numpy as np
from torch import Tensor

from pfedgp.verification.cases.clients import UNCLIPPED, CaseClients, named_values
from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.network import CaseNetwork
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.learning.meta_gradient import FORMS, MetaLoss, Triple, meta_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD

__all__ = ["META_RULES"]


def _form(q: Question) -> str:
    found = re.match(rf"(?:client|server|personal)_({'|'.join(FORMS)})(_|$)", q.check.name)
    if not found:
        raise NotUnderstood(f"{q.check.name!r} names none of the forms {', '.join(FORMS)}")
    return found[1]


def _update(played: CaseClients, name: str, form: str) -> CaseNetwork:
    inputs, network = played.inputs, played.network()
    batches = played.batches(name)[: 3 * int(inputs.number("local_steps"))]
    losses = played.losses(network, name, batches)
    triples = [Triple(*losses[i : i + 3]) for i in range(0, len(losses), 3)]
    parameters = list(network.parameters())
    optimiser = SGD(
        parameters, inputs.number("beta"), inputs.number("momentum", 0.0), inputs.number("weight_decay", 0.0)
    )
    meta = MetaLoss(form, inputs.number("alpha"), inputs.number("delta", 1e-3))
    meta_sgd(parameters, triples, meta, optimiser, UNCLIPPED, UpdateResult())
    return network


def _mean(played: CaseClients, form: str) -> np.ndarray:
    return played.mean([list(_update(played, name, form).parameters()) for name in played.participants])


def _client(q: Question) -> dict[str, Tensor]:
    played, form = CaseClients(q), _form(q)
    return named_values(_update(played, played.client(f"client_{form}_"), form))


def _server(q: Question) -> dict[str, Tensor]:
    played = CaseClients(q)
    return played.named(_mean(played, _form(q)))


def _personal(q: Question) -> dict[str, Tensor]:
    played, form = CaseClients(q), _form(q)
    network = played.network(played.named(_mean(played, form)))
    played.step_on_all(network, played.client(f"personal_{form}_"), played.inputs.number("alpha"))
    return named_values(network)


META_RULES = (
    Rule(r"^client ", _client),
    Rule(r"^server ", _server),
    Rule(r"^personal ", _personal),
)
