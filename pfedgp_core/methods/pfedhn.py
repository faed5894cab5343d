"""pFedHN (Shamsian et al. 2021): the server makes each client's network from an embedding of the client."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.client_table import ClientTable
from pfedgp_core.learning.hypernetwork import HyperNetwork, hyper_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD, Optimiser
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.layered import LayeredMethod, SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import train_network
from pfedgp_core.methods.uploads import Upload, clients_of
from pfedgp_core.model.flat import fill, flatten, length
from pfedgp_core.numerics.streams import Stream

__all__ = ["PFedHN"]


class PFedHN(LayeredMethod):
    """theta_k = h(v_k; phi) goes to the client and comes back trained; their difference trains phi and all v.

    The server takes a step for each client of a round, in the order of their names, so ``clients-per-round = 1`` is the
    authors' algorithm. With ``pfedhn.personal-layers = 1``, the variant PC, the last layer stays with the client, and
    so does its momentum; with 0 the whole network is made.

    The state holds phi, its momentum, a row "of nobody" and a table with a row for each client that has answered. A row
    is an embedding and its momentum. The row of nobody began as ones and has decayed since: times the first embedding
    of a client, which follows from its name, it is the present one of a client that was never sampled.
    """

    name, keeps = "pfedhn", True

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        clients = int(self.option("clients")) or settings.clients
        self._width = int(self.option("embedding-dim")) or 1 + clients // 4
        self._table = ClientTable(clients, 2 * self._width, "pfedhn.clients")
        self._loaded: np.ndarray | None = None  # the state whose phi the network holds

    @property
    def personal_layers(self) -> int:
        """The setting ``pfedhn.personal-layers``."""
        return int(self.option("personal-layers"))

    @cached_property
    def _hyper(self) -> HyperNetwork:
        """Overwritten by `_load`; a client never makes it."""
        return self._made()

    def _made(self) -> HyperNetwork:
        """The first hyper-network."""
        widths = [self._width] + [int(self.option("hidden"))] * (1 + int(self.option("hidden-layers")))
        shapes = {name: tuple(t.shape) for name, t in self.split.shared.items()}
        return HyperNetwork(widths, shapes, Stream(self.settings.seed, "initial-hypernetwork"))

    # At the server

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: a first phi, and no client."""
        phi = flatten(list(self._made().parameters()))
        nobody = np.repeat(np.array([1.0, 0.0], np.float32), self._width)
        return np.concatenate([phi, np.zeros_like(phi), nobody, self._table.empty()])

    def download(self, state: np.ndarray, client: str) -> np.ndarray:
        """See ``Method.download``: the client's network, or its first layers."""
        _, _, nobody, table = self._parts(state)
        self._load(state)
        row = self._table.find(table, client)
        both: np.ndarray = self._first(nobody, client) if row is None else self._table.values(table)[row]
        with torch.no_grad():
            made: np.ndarray = self._hyper(torch.from_numpy(both[: self._width].copy())).numpy()
        return made

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """See ``Method.step``: a step of phi and all embeddings for each upload."""
        following = state.copy()
        phi, momenta, nobody, table = self._parts(following)
        rows = [self._row(table, nobody, client) for client in clients_of(uploads)]
        self._load(state)
        parameters = list(self._hyper.parameters())
        velocities = [torch.zeros_like(p) for p in parameters]
        fill(velocities, momenta, "The momentum of the hyper-network", "resume with the same settings.")
        everyone = torch.from_numpy(np.concatenate([self._table.values(table), nobody[None]]))
        embeddings = nn.Parameter(everyone[:, : self._width].clone())
        velocities.append(everyone[:, self._width :].clone())
        rate, momentum, decay = (float(self.option(f"server-{key}")) for key in ("rate", "momentum", "decay"))
        optimiser = SGD([*parameters, embeddings], rate, momentum, decay, velocities)
        for row, upload in zip(rows, uploads, strict=True):
            delta = torch.from_numpy(upload.sent - upload.vector)
            hyper_sgd(self._hyper, embeddings, row, delta, optimiser, self.settings.clip_norm)
        self._loaded = None
        moved = torch.cat([embeddings.detach(), velocities[-1]], 1).numpy()
        phi[:], momenta[:], nobody[:] = flatten(parameters), flatten(velocities[:-1]), moved[-1]
        self._table.values(table)[:] = moved[:-1]
        return following

    def _parts(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Views of phi, its momentum, the row of nobody and the table."""
        size = length(list(self._hyper.parameters()))
        ends = np.cumsum([size, size, 2 * self._width])
        phi, momenta, nobody, table = np.split(state, ends)
        return phi, momenta, nobody, table

    def _load(self, state: np.ndarray) -> None:
        """Put a state's phi into the network, once for all downloads of a round."""
        if self._loaded is not state:
            phi = self._parts(state)[0]
            fill(list(self._hyper.parameters()), phi, "The hyper-network", "resume with the same settings.")
            self._loaded = state

    def _first(self, nobody: np.ndarray, client: str) -> np.ndarray:
        """Embedding and momentum of a client that was never sampled."""
        drawn = Stream(self.settings.seed, "initial-embedding", client).normal(self._width).numpy()
        both: np.ndarray = np.tile(drawn, 2) * nobody
        return both

    def _row(self, table: np.ndarray, nobody: np.ndarray, client: str) -> int:
        """A client's place in the table, with its first embedding where it is new there."""
        known = self._table.find(table, client)
        row = self._table.place(table, client)
        if known is None:
            self._table.values(table)[row] = self._first(nobody, client)
        return row

    # At the client

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: what was made by a fresh optimiser, the own layer by one that goes on."""
        if not len(data.labels):
            return Update(None, None, UpdateResult("no-data"))
        own, momenta = self._layer(kept)
        self.split.load(received, own)
        settings, result = self.settings, UpdateResult()
        velocities = {name: torch.zeros_like(t) for name, t in self.split.own.items()}
        fill(list(velocities.values()), momenta, "The momentum of this client", "remove its state to begin anew.")
        rates = (settings.learning_rate, settings.momentum, settings.weight_decay)
        made = SGD(_parameters(self.split.shared), *rates)
        going = [velocities[name] for name, t in self.split.own.items() if isinstance(t, nn.Parameter)]
        optimiser = _Both(made, SGD(_parameters(self.split.own), *rates, going))
        with network_time(result):
            train_network(self.network, data, self.batches(data, stream), settings, result, optimiser)
        update = self.split.taken(result)
        if update.keep is None:
            return update
        return update._replace(keep=np.concatenate([update.keep, flatten(list(velocities.values()))]))

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: what the server made, and the client's own layer."""
        self.split.load(received, self._layer(kept)[0])
        return SoftmaxPredictor(self.network, self.class_count)

    def _layer(self, kept: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Values of the own layer, and their momentum."""
        if kept is None:
            return self._start_own, np.zeros_like(self._start_own)
        half = len(kept) // 2
        return kept[:half], kept[half:]


class _Both:
    """Two optimisers as one."""

    def __init__(self, *parts: Optimiser) -> None:
        self._parts = parts

    def zero_grad(self) -> None:
        for part in self._parts:
            part.zero_grad()

    def step(self) -> None:
        for part in self._parts:
            part.step()


def _parameters(tensors: dict[str, Tensor]) -> list[nn.Parameter]:
    return [t for t in tensors.values() if isinstance(t, nn.Parameter)]
