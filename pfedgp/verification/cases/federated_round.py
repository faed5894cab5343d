"""One round of a case, played with the product's own client update, average and predictor."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pfedgp.verification.cases.format import Inputs, NotUnderstood
from pfedgp.verification.cases.network import CaseNetwork, named_tensors
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.aggregation import average, weighted_mean
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.layered import SoftmaxPredictor
from pfedgp_core.methods.split_network import SplitNetwork

__all__ = ["FederatedRound"]

UNCLIPPED = 1e9  # the largest gradient norm that the settings allow


class FederatedRound:
    """The clients of a case, what they start from, and what the round makes of it.

    Parameters
    ----------
    inputs : Inputs
        Of topic fedavg, fedper or lgfedavg. Where nothing is personal, ``params`` takes the place of ``shared``.
    dtype : torch.dtype
        Of networks, data and vectors. The server's average is rounded to float32 only where this is float32.

    Attributes
    ----------
    clients : dict of str to Inputs
    participants : list of str
        Clients that take part in the round.
    personal : dict of str to dict of str to Tensor
        Each client's own layers before the round, by name.
    received : float array
        What every participant receives.
    start : dict of str to float array
        Each client's own layers as a vector.

    Raises
    ------
    NotUnderstood
        An input is missing or of another form.
    """

    def __init__(self, inputs: Inputs, dtype: torch.dtype) -> None:
        self._inputs, self._dtype = inputs, dtype
        self.clients = {str(client["name"]): Inputs(client) for client in inputs["clients"]}
        stated = inputs.values.get("participants")
        self.participants = list(self.clients) if stated is None else [str(name) for name in stated]
        if unknown := set(self.participants) - set(self.clients):
            raise NotUnderstood(f"the participants {sorted(unknown)} are none of the clients")
        own = [str(name) for name in inputs.values.get("personal_layers") or ()]
        shared = named_tensors(inputs["shared" if "shared" in inputs else "params"], dtype)
        self.personal = {name: named_tensors(inputs["personal"][name], dtype) if own else {} for name in self.clients}
        self.split = SplitNetwork(CaseNetwork(inputs["model"], shared | next(iter(self.personal.values()))), own, dtype)
        if set(self.split.shared) != set(shared):
            raise NotUnderstood(f"the shared layers {sorted(shared)} are not all but the personal ones {sorted(own)}")
        self.received = self._vector(shared, self.split.shared)
        self.start = {name: self._vector(self.personal[name], self.split.own) for name in self.clients}

    def update(self, name: str) -> Update:
        """The client's update, with the batches of the case."""
        batches = [torch.tensor(rows, dtype=torch.int64) for rows in self.clients[name]["batches"]]
        return self._train(name, batches)

    def loss_before(self, name: str) -> float | None:
        """The loss over all of the client's data at what it starts from."""
        return self._train(name, [torch.arange(len(self._data(name)))]).result.loss

    def server(self, aggregation: str) -> np.ndarray:
        """The shared vector after the round, under a value of the setting ``aggregation``."""
        uploads = {name: update.upload for name, update in self._updates.items() if update.upload is not None}
        if not uploads:
            return self.received
        counts = [int(self.clients[name].number("n")) for name in uploads] if aggregation == "samples" else None
        # Without the product's bound on what a client may weigh, which no equation of the method has.
        mean = average if self._dtype == torch.float32 else weighted_mean
        return mean(list(uploads.values()), counts)

    def kept(self, name: str) -> np.ndarray:
        """The client's own vector after the round."""
        update = self._updates.get(name)
        return self.start[name] if update is None or update.keep is None else update.keep

    def first_probabilities(self, name: str) -> np.ndarray:
        """Class probabilities of the client's first sample after the round with the uniform average, [classes]."""
        self.split.load(self.server("uniform"), self.kept(name))
        predictor = SoftmaxPredictor(self.split.network, int(Inputs(self._inputs["model"]).number("classes")))
        first: np.ndarray = predictor.predict_proba(self._data(name).inputs[:1])[0]
        return first

    def named(self, shared: np.ndarray, own: np.ndarray) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The shared and the own layers by name, as the network has them after it is loaded with these vectors."""
        self.split.load(shared, own)
        copies = [
            {name: t.detach().clone() for name, t in part.items()} for part in (self.split.shared, self.split.own)
        ]
        return copies[0], copies[1]

    @cached_property
    def _updates(self) -> dict[str, Update]:
        return {name: self.update(name) for name in self.participants}

    def _train(self, name: str, batches: list[Tensor]) -> Update:
        return self.split.update(self.received, self.start[name], self._data(name), batches, self._settings)

    @property
    def _settings(self) -> Settings:
        return Settings(
            learning_rate=self._inputs.number("lr"),
            momentum=self._inputs.number("momentum", 0.0),
            weight_decay=self._inputs.number("weight_decay", 0.0),
            clip_norm=UNCLIPPED,
        )

    def _data(self, name: str) -> TensorSplit:
        client = self.clients[name]
        return TensorSplit(client.tensor("X", self._dtype, 2), client.tensor("y", torch.int64, 1))

    def _vector(self, values: Mapping[str, Tensor], order: Mapping[str, Any]) -> np.ndarray:
        """Values by name as one vector, in the network's order."""
        if set(values) != set(order):
            raise NotUnderstood(f"the layers {sorted(values)} are not {sorted(order)}")
        parts = [values[name].reshape(-1) for name in order]
        vector: np.ndarray = torch.cat(parts).numpy() if parts else np.zeros(0)
        return vector
