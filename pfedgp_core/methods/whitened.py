"""pFedGP with what the federation knows of a class's spread: the trees see features whitened by a shared covariance."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.floors.discriminant import whitening
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.methods.lda import LDA
from pfedgp_core.methods.on_features import FeaturePredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.model.metric import Metric
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.tree.classifier import PersonalClassifier

__all__ = ["Whitened", "WhitenedPredictor", "WhitenedTree"]


class Whitened(LDA):
    """The covariance within the classes, gathered as by ``lda``, is the metric of the kernel at prediction.

    A client with ten samples cannot know in which directions of the features a class spreads; all clients together do.
    Training is that of pFedGP, on features as they are, and so is what a shared head reads (``gp.prior-mean``).
    """

    name, onboards = "whitened", True

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        """See ``Method.check_settings``: inducing inputs were learned among features as they are."""
        if VARIANTS[settings.variant].needs_inducing:
            raise ConfigError(
                f"method = 'whitened' does not go with variant = {settings.variant!r}: set variant = 'full'."
            )

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: a tree of Gaussian processes on whitened features."""
        state = self.shared_state(received, kept, train, stream).eval()
        root = whitening(self.covariance(received), float(self.option("shrinkage"))).float()
        metric = Metric(root.to(self.device), state.head)
        fit = partial(WhitenedTree, metric, self.settings, stream, state.kernel(self.settings))
        return WhitenedPredictor(state.network, fit, train)


class WhitenedPredictor(FeaturePredictor):
    """A network's features and a `WhitenedTree` on them; it also predicts its training data, each left out once."""

    def __init__(self, network: nn.Module, fit: Callable[[Tensor, Tensor], "WhitenedTree"], train: TensorSplit) -> None:
        super().__init__(network, fit, train)
        assert isinstance(self.classifier, WhitenedTree)
        self.tree = self.classifier.tree
        self.counters_.update(self.tree.counters_)

    def seen(self, features: Tensor) -> Tensor:
        """See ``FeaturePredictor``: all of them, as the tree has the metric."""
        return features

    def leave_one_out_log_proba(self) -> np.ndarray:
        """See ``LeavesOneOut``."""
        with self._timer.phase("gp"):
            return self.tree.leave_one_out_log_proba()


class WhitenedTree:
    """A tree of Gaussian processes as a `FeatureClassifier`.

    Parameters
    ----------
    metric : Metric
        Of the features.
    settings : Settings
    stream : Stream
    kernel : Kernel
    features : Tensor [N, d]
        Of the network, as they are.
    labels : Tensor [N]

    Attributes
    ----------
    classes_ : int64 array [k]
    tree : PersonalClassifier
        On whitened features.
    """

    def __init__(
        self, metric: Metric, settings: Settings, stream: Stream, kernel: Kernel, features: Tensor, labels: Tensor
    ) -> None:
        self.metric = metric
        tree = PersonalClassifier(settings, stream, kernel=kernel, logits_of=metric.head)
        self.tree = tree.fit(metric(features), labels)
        self.classes_ = self.tree.classes_

    def log_probabilities(self, features: Tensor) -> Tensor:
        """See `FeatureClassifier`."""
        return torch.from_numpy(self.tree.predict_log_proba(self.metric(features)))
