"""The interface of a head: what a client trains, predicts and measures on its features.

A task is one file beside this one and one line of `pfedgp_core.registry.TASKS`.
"""

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, ClassVar, Protocol

from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.metrics.calibration import CalibrationSums
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.evidence import TemperatureEvidence
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.metrics.summary import Sums
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.variants.prior_mean import LogitsOf

__all__ = ["Head", "Personal", "Shared", "Sums", "Training"]


class Shared(Protocol):
    """What a head reads of the shared parameters; `pfedgp_core.model.shared.SharedState` has all of it."""

    @property
    def inducing(self) -> Tensor | None:
        """Inducing inputs, [K, M, d]."""

    @property
    def log_noise(self) -> Tensor | None:
        """Logarithm of the noise variance above its floor, [1]."""

    @property
    def inducing_targets(self) -> Tensor | None:
        """Targets of the inducing inputs, [M]."""

    @property
    def head(self) -> LogitsOf | None:
        """The softmax head whose log odds are prior means: raw features [N, d] to logits [N, K]."""

    def kernel(self, settings: Settings) -> Kernel:
        """The kernel, differentiable in scales that are learned."""


class Training(ABC):
    """One update of one client.

    Attributes
    ----------
    learnable : bool
        Whether there is anything to learn from the client's labels.
    """

    learnable: bool

    @abstractmethod
    def loss(self, features: Tensor, epoch: int) -> Tensor | None:
        """Loss of the features [N, d] of one epoch, 0-d; None where there is nothing to predict."""


class Personal(ABC):
    """A client's personal model.

    Attributes
    ----------
    counters : Counter
        Numerical recoveries of the last fit.
    """

    counters: Counter[str]

    @abstractmethod
    def fit(self, features: Tensor, labels: Tensor) -> None:
        """Learn from features [N, d] and labels [N]."""

    @abstractmethod
    def predict(self, features: Tensor) -> Any:
        """Predict at features [T, d], in the form that `sums` takes."""

    @abstractmethod
    def sums(self, predicted: Any, labels: Tensor) -> Sums:
        """Sums of metrics over what `predict` gave and the true labels [T]."""

    def own_sums(self, predicted: Any, labels: Tensor) -> MetricSums | None:
        """Sums over the classes of the training data alone; None where nothing else was predicted."""
        return None

    def calibration(self, test: tuple[Any, Tensor], validation: tuple[Any, Tensor] | None) -> CalibrationSums:
        """Calibration at every temperature, from (predicted, labels) of both splits; None is a split without samples.

        Only for a head that `calibrates`.
        """
        raise NotImplementedError

    def evidence(
        self, test: tuple[Any, Tensor], validation: tuple[Any, Tensor] | None, left_out: bool
    ) -> TemperatureEvidence:
        """What the choice of a temperature needs; arguments as in `calibration`, and for the same heads alone.

        With `left_out` it has the sums of the training data too, each sample predicted from all others.
        """
        raise NotImplementedError


class Head(ABC):
    """One task under some settings.

    Parameters
    ----------
    settings : Settings

    Attributes
    ----------
    no_sums : callable
        The sums over no sample.
    calibrates : bool
        Whether predictions have a temperature.
    """

    no_sums: ClassVar[type[MetricSums] | type[RegressionSums]]
    calibrates: ClassVar[bool] = False

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def inducing_sets(self, class_count: int) -> int:
        """Sets of inducing inputs that the shared model holds for a federation of so many classes."""

    def extras(self) -> dict[str, Tensor]:
        """What else the shared model holds before round 1, by its name in `Shared`; decided by ``settings.seed``."""
        return {}

    @abstractmethod
    def training(self, shared: Shared, labels: Tensor, stream: Stream, counters: Counter[str]) -> Training:
        """Begin an update.

        Parameters
        ----------
        shared : Shared
            The losses are differentiable in its parameters.
        labels : Tensor [N]
            Class ids, or targets in their own units.
        stream : Stream
        counters : Counter
            Receives the numerical recoveries.
        """

    @abstractmethod
    def personal(self, shared: Shared, stream: Stream) -> Personal:
        """A personal model that is not fitted yet; its draws come from `stream`."""
