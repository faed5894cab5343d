"""A client's images through its noise model, made once and then read from disk."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pfedgp_core.data.array_cache import cached_arrays
from pfedgp_core.data.corruptions.noise_models import NoisePlan
from pfedgp_core.data.samples import Split
from pfedgp_core.numerics.streams import Stream

__all__ = ["noisy_splits"]

_VERSION = "v1"  # part of the cache key; change it with the corruptions


def noisy_splits(
    splits: Mapping[str, Split],
    rows: Mapping[str, np.ndarray],
    plan: NoisePlan,
    client: int,
    folder: Path | None = None,
) -> dict[str, Split]:
    """Corrupt the images of a client by its noise model, which is the same in every split.

    Parameters
    ----------
    splits : mapping of str to Split
        The client's own images, uint8 [N, C, H, W].
    rows : mapping of str to int array [N]
        The number of each image in the data set. The generator of an image is named by the plan's seed, the client,
        this number and the corruption.
    plan : NoisePlan
    client : int
    folder : Path, optional
        Of the cache; default: that of `cached_arrays`.
    """
    digest = hashlib.sha256(f"{_VERSION} {plan.models[client]} {plan.parameters} {plan.seed} {client}".encode())
    for name, split in splits.items():
        digest.update(f"{name} {split.inputs.shape}".encode())
        digest.update(np.ascontiguousarray(split.inputs).tobytes())
        digest.update(np.ascontiguousarray(rows[name], dtype=np.int64).tobytes())

    def build() -> dict[str, np.ndarray]:
        return {name: _corrupted(split.inputs, rows[name], plan, client, name) for name, split in splits.items()}

    made = cached_arrays(f"noise-{digest.hexdigest()[:32]}", tuple(splits), build, folder)
    return {name: Split(np.asarray(made[name]), split.labels) for name, split in splits.items()}


def _corrupted(images: np.ndarray, rows: np.ndarray, plan: NoisePlan, client: int, split: str) -> np.ndarray:
    # Its filters and Pillow take a second to load, which a run without noise does not wait for.
    from pfedgp_core.data.corruptions.corrupt import corrupted

    (corruption, severity), stream = plan.models[client], Stream(plan.seed, "noise", client, split)
    made = np.empty_like(images)
    for i, row in enumerate(rows.tolist()):
        rng = stream.child(row, corruption).numpy
        made[i] = corrupted(images[i].transpose(1, 2, 0), corruption, severity, rng, plan.parameters).transpose(2, 0, 1)
    return made
