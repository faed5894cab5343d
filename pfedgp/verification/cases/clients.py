"""What the topics of baselines share: the case's network, its clients' data and batches, and the server's average."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from pfedgp.verification.cases.format import Inputs, NotUnderstood
from pfedgp.verification.cases.network import CaseNetwork, named_tensors
from pfedgp.verification.cases.question import Question
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.aggregation import average, weighted_mean
from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.methods.split_network import batch_losses
from pfedgp_core.model.flat import flatten

__all__ = ["UNCLIPPED", "CaseClients", "named_values"]

UNCLIPPED = 1e9  # the largest gradient norm that the settings allow


class CaseClients:
    """The clients of a case.

    Parameters
    ----------
    q : Question
    model : str
        The input that describes the network.

    Attributes
    ----------
    clients : dict of str to Inputs
    participants : list of str
        Clients that take part in the round.

    Raises
    ------
    NotUnderstood
        An input is missing or of another form.
    """

    def __init__(self, q: Question, model: str = "model") -> None:
        self.inputs, self.dtype, self._name = q.inputs, q.workspace.dtype, q.check.name
        self._model = self.inputs[model]
        self.clients = {str(client["name"]): Inputs(client) for client in self.inputs["clients"]}
        stated = self.inputs.values.get("participants")
        self.participants = list(self.clients) if stated is None else [str(name) for name in stated]
        if unknown := set(self.participants) - set(self.clients):
            raise NotUnderstood(f"the participants {sorted(unknown)} are none of the clients")

    @cached_property
    def start(self) -> dict[str, Tensor]:
        """The server's parameters, which every client receives."""
        return named_tensors(self.inputs["params"], self.dtype)

    def network(self, parameters: Mapping[str, Tensor] | None = None) -> CaseNetwork:
        """A network with the server's parameters, or others."""
        return CaseNetwork(self._model, self.start if parameters is None else parameters)

    def client(self, *prefixes: str) -> str:
        """The client that the assert names after one of these prefixes, letter by letter."""
        for prefix in prefixes:
            if self._name.startswith(prefix) and self._name.removeprefix(prefix) in self.clients:
                return self._name.removeprefix(prefix)
        raise NotUnderstood(f"{self._name!r} names none of the clients")

    def data(self, name: str) -> TensorSplit:
        """A client's samples."""
        client = self.clients[name]
        return TensorSplit(client.tensor("X", self.dtype, 2), client.tensor("y", torch.int64, 1))

    def batches(self, name: str) -> list[Tensor]:
        """Row numbers of a client's batches."""
        return [torch.tensor(rows, dtype=torch.int64) for rows in self.clients[name]["batches"]]

    def losses(self, network: CaseNetwork, name: str, batches: Sequence[Tensor]) -> list[Callable[[], Tensor]]:
        """The loss of each batch under a network."""
        return list(batch_losses(network, self.data(name), batches))

    def step_on_all(self, network: CaseNetwork, name: str, rate: float) -> None:
        """One plain step of a network on all of a client's samples."""
        losses = self.losses(network, name, [torch.arange(len(self.data(name)))])
        parameters = list(network.parameters())
        local_sgd(parameters, losses, SGD(parameters, rate, 0.0, 0.0), UNCLIPPED, UpdateResult())

    def mean(self, networks: Sequence[Sequence[Tensor]]) -> np.ndarray:
        """The product's uniform average of parameters; rounded to float32 only where the run is."""
        mean = average if self.dtype == torch.float32 else weighted_mean
        return mean([flatten(list(each), self.dtype) for each in networks])

    def named(self, vector: np.ndarray) -> dict[str, Tensor]:
        """The values of a vector by the names of the parameters."""
        network = self.network()
        values = torch.from_numpy(np.array(vector)).to(self.dtype)
        parts = values.split([p.numel() for p in network.parameters()])
        return {name: v.view_as(p) for (name, p), v in zip(network.named_parameters(), parts, strict=True)}


def named_values(network: CaseNetwork, values: Sequence[Tensor] | None = None) -> dict[str, Tensor]:
    """A network's parameters by name, or other values in their order."""
    pairs = zip(network.named_parameters(), values or list(network.parameters()), strict=True)
    return {name: value.detach().clone() for (name, _), value in pairs}
