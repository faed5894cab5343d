"""Regression: one GP with Gaussian noise in place of the tree; targets in standard units of the client's own."""

from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.heads.base import Head, Personal, Shared, Training
from pfedgp_core.metrics.regression import RegressionSums, regression_sums
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.regression.gp import Standardiser
from pfedgp_core.regression.student import StudentLaw
from pfedgp_core.regression.task import PersonalRegressor, RegressionHead, regression_loss

__all__ = ["NOISE_FLOOR", "Regression", "regression_head"]

NOISE_FLOOR = 1e-4  # of the noise variance of standardised targets; none that is learned makes a matrix singular


class Regression(Head):
    """Labels are targets; there is one set of inducing inputs, with targets of their own under ``ip-data``."""

    no_sums = RegressionSums

    def inducing_sets(self, class_count: int) -> int:
        """See ``Head``."""
        return 1

    def extras(self) -> dict[str, Tensor]:
        """See ``Head``."""
        settings = self.settings
        made = {"log_noise": torch.tensor([settings.gp.noise_variance - NOISE_FLOOR]).log()}
        if VARIANTS[settings.variant].labelled_inducing:
            made["inducing_targets"] = Stream(settings.seed, "initial-targets").normal(settings.inducing_per_class)
        return made

    def training(self, shared: Shared, labels: Tensor, stream: Stream, counters: Counter[str]) -> Training:
        """See ``Head``."""
        return _Training(self.settings, shared, labels, stream, counters)

    def personal(self, shared: Shared, stream: Stream) -> Personal:
        """See ``Head``; nothing is drawn."""
        return _Personal(PersonalRegressor(self.settings, regression_head(shared, self.settings)))


def regression_head(shared: Shared, settings: Settings) -> RegressionHead:
    """Kernel, noise and inducing points of a regression, differentiable in the shared parameters."""
    assert shared.log_noise is not None  # `extras` gives every regression one
    inducing = None if shared.inducing is None else shared.inducing[0]
    noise = NOISE_FLOOR + shared.log_noise[0].double().exp()
    return RegressionHead(shared.kernel(settings), noise, inducing, shared.inducing_targets)


class _Training(Training):
    """Targets are standardised once, with the client's own mean and deviation."""

    learnable = True

    def __init__(
        self, settings: Settings, shared: Shared, labels: Tensor, stream: Stream, counters: Counter[str]
    ) -> None:
        self.settings, self.shared, self.stream, self.counters = settings, shared, stream, counters
        self.targets = Standardiser.fit(labels).apply(labels)

    def loss(self, features: Tensor, epoch: int) -> Tensor | None:
        """See ``Training``."""
        head = regression_head(self.shared, self.settings)
        return regression_loss(features, self.targets, head, self.settings, self.stream.child(epoch), self.counters)


class _Personal(Personal):
    """A `PersonalRegressor`; its predictions are Student's laws of the targets, in their own units."""

    def __init__(self, regressor: PersonalRegressor) -> None:
        self.regressor = regressor
        self.counters = regressor.counters_

    def fit(self, features: Tensor, labels: Tensor) -> None:
        """See ``Personal``."""
        self.counters = self.regressor.fit(features, labels).counters_

    def predict(self, features: Tensor) -> StudentLaw:
        """See ``Personal``."""
        return self.regressor.law(features)

    def sums(self, predicted: StudentLaw, labels: Tensor) -> RegressionSums:
        """See ``Personal``."""
        own = self.regressor.standardiser_
        mean, scale = predicted.mean.cpu().numpy(), predicted.scale.cpu().numpy()
        return regression_sums(mean, scale, labels.cpu().numpy(), own.mean, own.deviation, predicted.freedom)
