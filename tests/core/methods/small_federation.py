"""A federation of vectors without a network, of tiny samples: a round takes milliseconds."""

from collections.abc import Sequence

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.methods.base import Method, Update, Upload
from pfedgp_core.methods.make import make_method
from pfedgp_core.numerics.streams import Stream

__all__ = ["CLASSES", "SHAPE", "data", "method_of", "rounds", "same", "settings_of", "updated"]

SHAPE, CLASSES = (6,), 4


def settings_of(method: str, **more: object) -> Settings:
    config = {"method": method, "network": "mlp", "feature-dim": 8, "local-steps": 7, "batch-size": 5, "clients": 6}
    return Settings.from_run_config(config | {"clip-norm": 1e9, "pfedhn.hidden": 6} | more)  # type: ignore[operator]


def method_of(method: str, **more: object) -> Method:
    return make_method(settings_of(method, **more), SHAPE, CLASSES)


def data(seed: int, n: int = 12) -> TensorSplit:
    generator = torch.Generator().manual_seed(seed)
    return TensorSplit(torch.randn(n, *SHAPE, generator=generator), torch.arange(n) % CLASSES)


def updated(method: Method, received: np.ndarray | None = None, kept: np.ndarray | None = None, t: int = 1) -> Update:
    """An update of client ``a``, on what it receives at the start if nothing else is given."""
    start = method.download(method.initial(), "a") if received is None else received
    return method.update(start, kept, data(0), Stream(0, "train", t, "a"))


def rounds(
    method: Method, clients: Sequence[str], count: int, first: int = 1, state: np.ndarray | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray | None]]:
    """The server's state and what the clients keep, after some rounds of all clients."""
    state = method.initial() if state is None else state
    kept = dict[str, np.ndarray | None].fromkeys(clients)
    for t in range(first, first + count):
        uploads = []
        for i, client in enumerate(clients):
            received = method.download(state, client)
            update = method.update(received, kept[client], data(i), Stream(0, "train", t, client))
            kept[client] = kept[client] if update.keep is None else update.keep
            if update.upload is not None:
                uploads.append(Upload(client, update.upload, received, 12))
        state = method.step(state, uploads) if uploads else state
    return state, kept


def same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two vectors are equal to the bit."""
    return one is not None and other is not None and one.tobytes() == other.tobytes()
