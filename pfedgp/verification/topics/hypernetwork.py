"""Rules for the topic pfedhn: visits of clients whose networks a hyper-network makes."""

import re
from typing import Any

import torch
from torch import Tensor, nn

from pfedgp.verification.cases.clients import UNCLIPPED, CaseClients
from pfedgp.verification.cases.format import Inputs, NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.learning.hypernetwork import HyperNetwork, hyper_sgd
from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.model.flat import flatten

__all__ = ["HYPERNETWORK_RULES"]


class _Visits(CaseClients):
    """The case's visits in their order; `generated` and `delta` hold what each made."""

    def __init__(self, q: Question) -> None:
        super().__init__(q, "target")
        tensors = Inputs(self.inputs["hyper"])
        layers = sum(name.startswith("A") for name in tensors.values)
        trunk = [tensors.tensor(f"A{i}", self.dtype, 2) for i in range(1, layers + 1)]
        targets = [name.removeprefix("H_") for name in tensors.values if name.startswith("H_")]
        self._names = [f"{letter}{i}" for i in range(1, layers + 1) for letter in "Ac"]
        self._names += [f"{letter}_{name}" for name in targets for letter in "Hh"]
        if set(self._names) != set(tensors.values) or not trunk:
            raise NotUnderstood(f"the parameters {sorted(tensors.values)} are not {self._names}")
        widths = [trunk[0].shape[1], *(len(weight) for weight in trunk)]
        self.hyper = HyperNetwork(widths, self._shapes(targets)).to(self.dtype)
        for name, p in zip(self._names, self.hyper.parameters(), strict=True):
            p.data.copy_(tensors.tensor(name, self.dtype, p.ndim))
        self.embeddings = nn.Parameter(self.inputs.tensor("embeddings", self.dtype, 2))
        self.generated: list[dict[str, Tensor]] = []
        self.delta: list[dict[str, Tensor]] = []
        self._play()

    def hyper_parameters(self) -> dict[str, Tensor]:
        """The hyper-network's parameters by name."""
        return dict(zip(self._names, self.hyper.parameters(), strict=True))

    def _shapes(self, targets: list[str]) -> dict[str, tuple[int, ...]]:
        d, classes = (int(Inputs(self._model).number(key)) for key in ("d", "classes"))
        hidden = int(Inputs(self._model).number("hidden", 0.0))
        known: dict[str, tuple[int, ...]] = {"W": (classes, d), "b": (classes,)}
        if self._model.get("kind") == "mlp":
            known = {"W1": (hidden, d), "b1": (hidden,), "W2": (classes, hidden), "b2": (classes,)}
        if set(targets) != set(known):
            raise NotUnderstood(f"the target's layers {targets} are not {sorted(known)}")
        return {name: known[name] for name in targets}

    def _play(self) -> None:
        number = self.inputs.number
        outer = SGD(
            [*self.hyper.parameters(), self.embeddings], number("lr"), number("momentum"), number("weight_decay")
        )
        for visit in self.inputs["visits"]:
            name = str(visit["client"])
            if name not in self.clients:
                raise NotUnderstood(f"the visit to {name!r} is to none of the clients")
            row = list(self.clients).index(name)
            received = {key: t.detach() for key, t in self.hyper.generated(self.embeddings[row]).items()}
            trained = self._trained(name, received, [torch.tensor(rows) for rows in visit["batches"]])
            delta = {key: received[key] - trained[key] for key in received}
            self.generated.append(received)
            self.delta.append(delta)
            flat = torch.from_numpy(flatten(list(delta.values()), self.dtype))
            hyper_sgd(self.hyper, self.embeddings, row, flat, outer, UNCLIPPED)

    def _trained(self, name: str, received: dict[str, Tensor], batches: list[Tensor]) -> dict[str, Tensor]:
        number, network = self.inputs.number, self.network(received)
        parameters = list(network.parameters())
        inner = SGD(parameters, number("inner_lr"), number("inner_momentum"), number("inner_weight_decay"))
        losses = self.losses(network, name, batches[: int(number("inner_steps"))])
        local_sgd(parameters, losses, inner, UNCLIPPED, UpdateResult())
        return {key: p.detach() for key, p in network.named_parameters()}


def _of_visit(q: Question) -> Any:
    visits, found = _Visits(q), re.fullmatch(r"(generated|delta) visit(\d+)", q.head)
    if not found or int(found[2]) >= len(visits.delta):
        raise NotUnderstood(f"{q.check.name!r} names none of the visits")
    return getattr(visits, found[1])[int(found[2])]


HYPERNETWORK_RULES = (
    Rule(r"^(generated|delta) visit", _of_visit),
    Rule(r"^embeddings after$", lambda q: _Visits(q).embeddings),
    Rule(r"^hyper after$", lambda q: _Visits(q).hyper_parameters()),
)
