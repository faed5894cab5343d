"""FedU (Dinh et al. 2021): a model for each client, drawn at the server towards those of the round's other clients."""

from collections.abc import Sequence

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning.client_table import ClientTable
from pfedgp_core.learning.coupling import complete_graph, pulled
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.uploads import Upload, clients_of, vectors_of

__all__ = ["FedU", "step_size"]


class FedU(FedAvg):
    """min sum_k L_k(w_k) + eta/2 sum over pairs a |w_k - w_l|^2 with ``fedu.eta`` and one ``fedu.weight``.

    A client trains its own model from where the server left it. Then the server moves the round's models towards each
    other, all at once from what was received, by a step of `step_size`. It holds a model for each client that has
    answered, with room for ``fedu.clients``. A client that was never sampled has the initial model.
    """

    name = "fedu"

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        rows = int(self.option("clients")) or settings.clients
        self._table = ClientTable(rows, len(self._start_shared), "fedu.clients")

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        """See ``Method.check_settings``: a pull so strong that models would change places."""
        others = settings.clients_per_round - 1
        together = step_size(settings) * float(cls.option_of(settings, "weight")) * others
        if together >= 1:
            raise ConfigError(
                f"fedu.eta = {cls.option_of(settings, 'eta'):g} moves each of {others + 1} models {together:.3g} times "
                f"the way to the others: give less than {float(cls.option_of(settings, 'eta')) / together:.3g}."
            )

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: a table without clients."""
        return self._table.empty()

    def download(self, state: np.ndarray, client: str) -> np.ndarray:
        """See ``Method.download``: the client's own model."""
        row = self._table.find(state, client)
        return self._start_shared if row is None else self._table.values(state)[row].copy()

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """See ``Method.step``: models of clients that did not take part stay to the bit."""
        following = state.copy()
        rows = [self._table.place(following, client) for client in clients_of(uploads)]
        models = np.stack([vector.astype(np.float64) for vector in vectors_of(uploads)])
        graph = complete_graph(len(uploads), float(self.option("weight")))
        self._table.values(following)[rows] = pulled(models, graph, step_size(self.settings))
        return following


def step_size(settings: Settings) -> float:
    """The server's step: eta x learning rate x local steps, or x local epochs where an update is made of these."""
    return (
        float(FedU.option_of(settings, "eta"))
        * settings.learning_rate
        * (settings.local_steps or settings.local_epochs)
    )
