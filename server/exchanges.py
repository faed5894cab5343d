"""The exchanges of a run with its clients: a round of training, an evaluation."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.wire.names import INITIAL
from server.clients.roster import Roster
from server.exchanged import Evaluation, Training
from server.flower.messages import exchange, pack_vector, request_config, unpack_vector
from server.run.releases import Releases
from server.strategy import MethodStrategy

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
    strategy : MethodStrategy
    run_key : str
        Names the run to the clients, the same after a resume.
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
        strategy: MethodStrategy,
        run_key: str,
        releases: Releases,
        window: int | None = None,
    ) -> None:
        self.grid, self.settings, self.roster, self.strategy = grid, settings, roster, strategy
        self.run_key, self.releases, self.window = run_key, releases, window

    def update(
        self, t: int, state: np.ndarray, split: str = "", best: int = 0, meanwhile: Callable[[], object] = lambda: None
    ) -> tuple[np.ndarray | None, Training, Evaluation]:
        """Round t of the method, from the server's `state`.

        Parameters
        ----------
        t : int
        state : float32 [P]
        split : str
            Where not empty, all clients with such data evaluate `state` in the same exchange, as the model of the
            round before.
        best : int
            Round of the best model up to now; 0: there is none.
        meanwhile : callable
            Called once the clients have their requests.

        Returns
        -------
        state : float32 [P] or None
            The next one; None where the state stays.
        training : Training
        evaluation : Evaluation
            Of the former `state`; of no client where `split` is empty.
        """
        config = request_config(self.settings, t, split, self.roster.spec, self.run_key, best)
        messages = self.strategy.configure_train(t, pack_vector(state), config, self.grid)
        self.releases.note(t, (asked.client.name for asked in self.strategy.training.asked))
        arrays, _ = self.strategy.aggregate_train(t, self._exchange(messages, meanwhile))
        following = None if arrays is None else unpack_vector(arrays)
        return following, self.strategy.training, self.strategy.evaluation

    def evaluate(self, t: int, state: np.ndarray, split: str, initial: bool = False, scale: float = 0.0) -> Evaluation:
        """Every client's personal classifier under the server's `state` of round t, on its own data.

        Where `state` is the `initial` one, for a comparison with round t, the clients send less (`INITIAL`), and may
        be some that are drawn from all. The output scale is that of the settings, or one that was chosen for round t.
        """
        config = request_config(self.settings, t, split, self.roster.spec, self.run_key, scale=scale)
        if initial:
            config[INITIAL] = 1
        messages = self.strategy.configure_evaluate(t, pack_vector(state), config, self.grid)
        self.strategy.aggregate_evaluate(t, self._exchange(messages))
        return self.strategy.evaluation

    def _exchange(
        self, messages: Iterable[Message], meanwhile: Callable[[], object] = lambda: None
    ) -> Iterator[Message]:
        own = self.roster.own_data
        names = {node: client.name for node, client in self.roster.by_node().items()} if own else None
        about = (self.settings.round_timeout, names, self.window, self.strategy.stragglers, meanwhile)
        return exchange(self.grid, list(messages), *about)
