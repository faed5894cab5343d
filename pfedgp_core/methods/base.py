"""The interface of a federated method: updates and predictions of a client, and the server's step.

Everything about a method that is not the same for all stands in one class. It is pure: values in, values out, all
randomness from a stream, nothing kept between calls but buffers that the next call overwrites. Server, clients,
metrics, report, checkpoints and robust averages ask this interface and know no method by name.

What travels::

    server: state [state_size] --download(state, client)--> client: received [download_size]
    client: update(received, kept, data) -> upload [upload_size], keep
    server: step(state, uploads) -> state

A client's own state (``keep``) never leaves the site. It is stored under the round of the update, and is the client's
state from the moment on that a later request names this round as accepted, so that a killed server or site resumes to
the same bits (see `client.state`).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.learning.aggregation import combine
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.measure import measure
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.uploads import Upload, counts_of, vectors_of
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.numerics.streams import Stream

__all__ = ["Method", "Update", "Upload"]


class Update(NamedTuple):
    """What one local update leaves.

    Attributes
    ----------
    upload : float32 array [upload_size] or None
        What the server gets; None where there is nothing to average.
    keep : float32 array [any] or None
        The client's own state from now on; None leaves it as it was.
    result : UpdateResult
        What the client reports. Its status is ``ok`` exactly where there is an upload.
    """

    upload: np.ndarray | None
    keep: np.ndarray | None
    result: UpdateResult


class Method(ABC):
    """A federated method under the settings of one run.

    A new one is a file with a subclass and one entry in `pfedgp_core.registered_methods.METHODS`, or any class that
    ``--method package.module:Class`` names.

    Parameters
    ----------
    settings : Settings
    input_shape : tuple of int
        Shape of one input.
    class_count : int
        Classes of the whole federation; without meaning in regression.
    device : torch.device or str
        Where the client's data are.

    Attributes
    ----------
    name : str
        Its name in the registry; of its settings, which are ``NAME.*``.
    options : mapping of str to dataclasses.Field
        Declarations of its own settings by key without the name, made by `pfedgp_core.setting.setting`. Methods in the
        registry declare theirs there.
    keeps : bool
        Clients keep a state of their own, so a site needs a state folder.
    onboards : bool
        `personal` gives a newcomer a classifier without any training: onboard, publish and certify are open.
    private : bool
        Upload minus download is one bounded vector: noise (``dp-noise``) and the bound on single clients
        (``clip-updates``, ``max-update-norm``) apply.
    exposed : bool
        One of five sites that attacks in every round costs it much in spite of that bound (docs/attacks.md); a server
        of sites' own data warns.
    """

    name: ClassVar[str] = ""
    options: ClassVar[Mapping[str, Any]] = {}
    keeps: ClassVar[bool] = False
    onboards: ClassVar[bool] = False
    private: ClassVar[bool] = True
    exposed: ClassVar[bool] = False

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        self.settings, self.input_shape, self.class_count = settings, tuple(input_shape), class_count
        self.device = torch.device(device)

    def option(self, key: str) -> Any:
        """The value of the method's own setting ``NAME.key``."""
        return self.option_of(self.settings, key)

    @classmethod
    def option_of(cls, settings: Settings, key: str) -> Any:
        """The value of its setting ``NAME.key`` in some settings."""
        return settings.own.get(f"{cls.name}.{key}", cls.options)

    @classmethod  # noqa: B027 - most have nothing to check
    def check_settings(cls, settings: Settings) -> None:
        """Raise ConfigError where settings that are each in range do not go together for this method."""

    # At the client

    @abstractmethod
    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """One local update.

        Parameters
        ----------
        received : float32 array [download_size]
        kept : float32 array or None
            The client's own state; None before its first accepted update.
        data : TensorSplit
            Its training data: inputs [N, ...], class ids or targets [N].
        stream : Stream
            Derived from (run seed, round, client); its path ends with the client's name.

        Raises
        ------
        NonFiniteError
            Nothing may be sent or kept.
        DataError
            `received` or `kept` does not fit the settings.
        """

    @abstractmethod
    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """The client's personal classifier under what it received and kept; `train` is not empty."""

    def evaluate(
        self,
        received: np.ndarray,
        kept: np.ndarray | None,
        data: ClientData,
        split: str,
        stream: Stream,
        left_out: bool = False,
    ) -> EvaluationResult:
        """Measure the personal classifier on the split ``validation`` or ``test`` of a client's data.

        With `left_out` the evidence has the sums of the training data too, each sample predicted from all others.
        A client without training data or without data of the split gives empty sums (n = 0), never NaN.
        """
        if not len(data.train.labels) or not len(getattr(data, split).labels):
            return EvaluationResult(MetricSums(), Counter(), {})
        return measure(self.personal(received, kept, data.train, stream), data, split, left_out)

    # At the server

    @abstractmethod
    def initial(self) -> np.ndarray:
        """The server's whole state before round 1, float32 [state_size], decided by the settings alone."""

    def alone(self) -> np.ndarray:
        """What a client by itself would predict with, to compare: `initial`, but nothing random as knowledge."""
        return self.initial()

    def download(self, state: np.ndarray, client: str) -> np.ndarray:
        """What a client receives; the same object for two clients is packed once."""
        return state

    def own_places(self, classes: Collection[int]) -> np.ndarray | None:
        """The values that a client with these classes alone reads and changes, bool [state_size]; None: all.

        Only these travel to and from such a client, who has zeros in the place of all others. Where some do not,
        states, downloads and uploads have one length.
        """
        return None

    def unread(self, state: np.ndarray, steps: int) -> np.ndarray:
        """What an update of so many steps makes of the values of `state` that it does not read, [state_size]."""
        return state

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """The server's next state from at least one upload, in the order of the clients' names; float32 [state_size].

        The default is the average that the setting ``aggregation`` names. A step that goes through `uploads` once, and
        keeps no vector of them, has one of them in memory at a time.
        """
        return combine(self.settings, state, vectors_of(uploads), counts_of(uploads))

    @property
    def upload_size(self) -> int:
        """Length of an upload; 0 where there never is one."""
        return len(self.initial())
