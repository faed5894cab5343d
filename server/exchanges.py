"""The exchanges of a run with its clients: a round of training, an evaluation."""

from collections.abc import Iterable

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from server.clients.roster import Roster
from server.exchanged import Evaluation, Training
from server.flower.messages import exchange, pack_vector, request_config, unpack_vector
from server.run.releases import Releases
from server.strategy import PFedGP

__all__ = ["Exchanges"]


class Exchanges:
    """Asks the clients what the strategy wants to know.

    Parameters
    ----------
    grid : Grid
        Flower's connection to the clients.
    settings : Settings
    roster : Roster
        Their `spec` goes with every request.
    strategy : PFedGP
    releases : Releases
        Takes who is asked for an update, before the request is sent.
    window : int, optional
        Requests that may be under way at a time.
    """

    def __init__(
        self,
        grid: Grid,
        settings: Settings,
        roster: Roster,
        strategy: PFedGP,
        releases: Releases,
        window: int | None = None,
    ) -> None:
        self.grid, self.settings, self.roster, self.strategy = grid, settings, roster, strategy
        self.releases, self.window = releases, window

    def update(self, t: int, vector: np.ndarray, split: str = "") -> tuple[np.ndarray | None, Training, Evaluation]:
        """Round t of the paper's algorithm 1 from the shared `vector`.

        Parameters
        ----------
        t : int
        vector : float32 [P]
        split : str
            Where not empty, all clients with such data evaluate `vector` in the same exchange, as the model of the
            round before.

        Returns
        -------
        averaged : float32 [P] or None
            The average of the sampled clients' updates; None where the model stays.
        training : Training
        evaluation : Evaluation
            Of `vector`; of no client where `split` is empty.
        """
        config = request_config(self.settings, t, split, self.roster.spec)
        messages = self.strategy.configure_train(t, pack_vector(vector), config, self.grid)
        self.releases.note(t, (client.name for client, _ in self.strategy.training.asked))
        arrays, _ = self.strategy.aggregate_train(t, self._exchange(messages))
        averaged = None if arrays is None else unpack_vector(arrays)
        return averaged, self.strategy.training, self.strategy.evaluation

    def evaluate(self, t: int, vector: np.ndarray, split: str) -> Evaluation:
        """Every client's personal classifier under the shared `vector` of round t, on its own data."""
        config = request_config(self.settings, t, split, self.roster.spec)
        messages = self.strategy.configure_evaluate(t, pack_vector(vector), config, self.grid)
        self.strategy.aggregate_evaluate(t, self._exchange(messages))
        return self.strategy.evaluation

    def _exchange(self, messages: Iterable[Message]) -> list[Message]:
        own = self.roster.own_data
        names = {node: client.name for node, client in self.roster.by_node().items()} if own else None
        return exchange(self.grid, list(messages), self.settings.round_timeout, names, self.window)
