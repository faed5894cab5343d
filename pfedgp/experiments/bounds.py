"""Certifies a run's model at the clients that never trained, from several parts of their samples.

As a program, ``python -m pfedgp.experiments.bounds RUN SETTINGS OUT DELTA SHARE...``: OUT gets what
`measure_afterwards` leaves, and ``summary.json`` holds a point for each client and share.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pfedgp.experiments.afterwards import measure_afterwards
from pfedgp.experiments.specification import Bounds
from pfedgp_core.certificate.classifier import NoCertificateError, certify_classifier
from pfedgp_core.certificate.risk import class_probabilities
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.data.simulated import simulated_client, simulated_partition
from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.make import make_method
from pfedgp_core.methods.pfedgp import PFedGP
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from server.run.model_file import load_model

__all__ = ["bound_points"]

_FIXED = ("k-class",)  # partitions that choose a client's classes before any of its samples


def bound_points(run: Path, settings: Settings, bounds: Bounds) -> list[dict[str, Any]]:
    """Bounds and true errors of the best model's classifiers at novel clients.

    The true errors are those on the client's test and validation samples, which nothing of the run has used. The parts
    of a client's training samples are drawn at random; the larger ones hold the smaller ones.

    Parameters
    ----------
    run : Path
        A completed run.
    settings : Settings
        Of the run.
    bounds : Bounds

    Returns
    -------
    list of dict
        ``client``, ``share``, ``n`` (samples fitted), ``tested`` (samples), ``bounds`` and ``errors`` by ``gibbs``,
        ``wrong_probability`` and ``deployed``, ``paper`` (the paper's estimate of a bound on ``gibbs``), ``refused``
        (why there is no certificate; then all others are None).

    Raises
    ------
    ArtefactError
        There is no model.
    """
    vector, _ = load_model(run / "best")
    partition, points = simulated_partition(settings), list[dict[str, Any]]()
    fixed = settings.partition in _FIXED
    for i in range(settings.trainers, settings.participants):
        data = simulated_client(settings, i)
        classes = list(partition.classes[i]) if fixed else None
        client = _Client(_state(settings, vector, data), data, classes)
        points += [client.point(share, settings, bounds.delta) for share in bounds.shares]
    return points


def _state(settings: Settings, vector: np.ndarray, data: ClientData) -> SharedState:
    method = make_method(settings, tuple(data.train.inputs.shape[1:]), len(data.class_names))
    assert isinstance(method, PFedGP)  # as the file of the experiment was checked for
    return method.shared_state(vector, None, data.train, Stream(settings.seed)).eval()


class _Client:
    """A novel client's features under the trained model."""

    def __init__(self, state: SharedState, data: ClientData, classes: list[int] | None) -> None:
        self._state, self._data, self._classes = state, data, classes
        self._features, test, validation = (
            compute_features(state.network, split.inputs) for split in (data.train, data.test, data.validation)
        )
        self._kept_out = torch.cat([test, validation])
        self._labels = torch.cat([data.test.labels, data.validation.labels]).numpy()

    def point(self, share: float, settings: Settings, delta: float) -> dict[str, Any]:
        """The classifier of a part of the samples: its certificate, and its errors on samples kept out of all."""
        name, count = self._data.name, len(self._data.train.labels)
        order = Stream(settings.seed, "bounds", name).numpy.permutation(count)
        rows = torch.from_numpy(np.sort(order[: max(1, round(share * count))]))
        point: dict[str, Any] = {"client": name, "share": share, "n": len(rows), "tested": len(self._labels)}
        try:
            return point | self._certified(rows, settings, delta)
        except NoCertificateError as error:
            return point | {"bounds": None, "errors": None, "paper": None, "refused": str(error)}

    def _certified(self, rows: Tensor, settings: Settings, delta: float) -> dict[str, Any]:
        state, labels = self._state, self._data.train.labels[rows]
        stream = Stream(settings.seed, "bounds", self._data.name, len(rows))
        classifier = PersonalClassifier(settings, stream, state.inducing, state.kernel(settings), state.head)
        classifier.fit(self._features[rows], labels)
        federation = len(self._data.class_names)
        tree = certify_classifier(classifier, labels, federation, delta, self._classes).tree
        columns = label_columns(classifier.classes_, self._labels)
        wrong = [
            1 - float(np.where(columns >= 0, p[np.arange(len(columns)), columns], 0.0).mean())
            for p in class_probabilities(classifier, self._kept_out)
        ]
        deployed = float((classifier.predict(self._kept_out) != self._labels).mean())
        return {
            "bounds": {"gibbs": tree.sign.bound, "wrong_probability": tree.soft.bound, "deployed": tree.soft_vote},
            "errors": {"gibbs": wrong[0], "wrong_probability": wrong[1], "deployed": deployed},
            "paper": tree.paper.inverse,
            "refused": "",
        }


def main(run: str, settings_file: str, out: str, delta: str, *shares: str) -> int:
    """Certify and write the folder."""

    def measure(settings: Settings) -> dict[str, Any]:
        if not settings.novel_clients:
            raise ConfigError("There is no client that never trains: set novel-clients.")
        return {"points": bound_points(Path(run), settings, Bounds(tuple(map(float, shares)), float(delta)))}

    return measure_afterwards(Path(run), Path(settings_file), Path(out), measure)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
