"""Regression end to end on features: the training loss of a client, and its personal regressor.

One GP with Gaussian noise replaces the tree; there is no sampling. The variants keep their meaning:

============  ==============================  =================================  =====================================
variant       conditioned on in training      predicted in training              conditioned on at prediction
============  ==============================  =================================  =====================================
full          a random half                   the other half                     the client's data
ip-data       inducing inputs and targets     the client's data                  the client's data and inducing points
ip-compute    a random half, through FITC     the other half                     the client's data, through FITC
============  ==============================  =================================  =====================================

Under the marginal objective ``full`` and ``ip-compute`` are conditioned on all data, and nothing is held out. Targets
are in standard units of the client's training data throughout, see `Standardiser`.
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, DataError, NonFiniteError
from pfedgp_core.kernels.base import Kernel, unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.regression.gp import FITCRegression, FullRegression, Standardiser
from pfedgp_core.regression.student import SiteScale, StudentLaw

__all__ = ["PersonalRegressor", "RegressionHead", "regression_loss"]


@dataclass(frozen=True)
class RegressionHead:
    """What a client's regression GP takes from the shared model.

    Attributes
    ----------
    kernel : Kernel
    noise_variance : float or 0-d Tensor
        Of standardised targets.
    inducing : Tensor [M, d] or None
        Raw, as the network's features are (``ip-data``, ``ip-compute``).
    inducing_targets : Tensor [M] or None
        Standardised targets of the inducing inputs (``ip-data``).
    """

    kernel: Kernel
    noise_variance: float | Tensor
    inducing: Tensor | None = None
    inducing_targets: Tensor | None = None

    @classmethod
    def fixed(cls, settings: Settings) -> "RegressionHead":
        """Kernel and noise of the settings, without inducing inputs."""
        gp = settings.gp
        return cls(make_kernel(gp.kernel, gp.output_scale, gp.length_scale), gp.noise_variance)

    def require(self, settings: Settings) -> None:
        """Raise ConfigError where the variant needs inducing points that are not here."""
        variant = VARIANTS[settings.variant]
        missing = variant.needs_inducing and self.inducing is None
        if missing or (variant.labelled_inducing and self.inducing_targets is None):
            raise ConfigError(f"variant = {settings.variant!r} needs inducing points: pass those of the shared model.")

    def on_data(
        self, inputs: Tensor, targets: Tensor, settings: Settings, counters: Counter[str]
    ) -> FullRegression | FITCRegression:
        """Conditioned on data alone, `inputs` [n, d] on the unit sphere: the full GP, or FITC with inducing inputs."""
        if not VARIANTS[settings.variant].needs_inducing:
            return FullRegression(self.kernel, inputs, targets, self.noise_variance, settings.gp.jitter, counters)
        assert self.inducing is not None
        on_sphere = unit_sphere(self.inducing)
        return FITCRegression(
            self.kernel, inputs, targets, on_sphere, self.noise_variance, settings.gp.jitter, counters
        )

    def on_inducing(
        self, data: tuple[Tensor, Tensor] | None, settings: Settings, counters: Counter[str]
    ) -> FullRegression:
        """Conditioned on the inducing points, stacked under `data` (inputs [n, d], targets [n]) if given."""
        assert self.inducing is not None
        assert self.inducing_targets is not None
        inputs, targets = unit_sphere(self.inducing), self.inducing_targets.double()
        if data is not None:
            inputs, targets = torch.cat([data[0], inputs]), torch.cat([data[1].double(), targets])
        return FullRegression(self.kernel, inputs, targets, self.noise_variance, settings.gp.jitter, counters)


def regression_loss(
    features: Tensor, targets: Tensor, head: RegressionHead, settings: Settings, stream: Stream, counters: Counter[str]
) -> Tensor | None:
    """A client's loss a point, differentiable in features, kernel scales, noise and inducing points.

    * ``predictive``: minus the mean of log N(y*; mu*, v* + s^2) over held-out points (``ip-data``: all points).
    * ``marginal``: -log p(y) / n.

    Parameters
    ----------
    features : Tensor [N, d]
        Raw; they are put on the unit sphere here.
    targets : Tensor [N]
        Standardised.
    head : RegressionHead
    settings : Settings
        ``variant``, ``objective``, ``loss_scale``, ``gp.holdout``, ``gp.jitter``.
    stream : Stream
        Draws what is held out: floor(holdout N) points.
    counters : Counter
        ``node_skipped`` counts data too few to hold a point out.

    Returns
    -------
    Tensor, 0-d, or None where there was no point to predict.

    Raises
    ------
    ConfigError
        The variant needs inducing points and there are none.
    """
    head.require(settings)
    inputs = unit_sphere(features)
    if settings.objective == "marginal":
        evidence = head.on_data(inputs, targets, settings, counters).log_marginal()
        return -settings.loss_scale * evidence / len(targets)
    if VARIANTS[settings.variant].labelled_inducing:
        density = head.on_inducing(None, settings, counters).log_density(inputs, targets)
        return -settings.loss_scale * density.mean()
    order = stream.permutation(len(targets)).to(targets.device)
    count = int(settings.gp.holdout * len(targets))
    if not count:
        counters["node_skipped"] += 1
        return None
    out, kept = order[:count], order[count:]
    known = head.on_data(inputs[kept], targets[kept], settings, counters)
    return -settings.loss_scale * known.log_density(inputs[out], targets[out]).mean()


class PersonalRegressor:
    """GP regression on fixed features, in the manner of scikit-learn.

    Parameters
    ----------
    settings : Settings, optional
        Variant and jitter; the defaults if left out.
    head : RegressionHead, optional
        Kernel, noise and inducing points of the shared model; kernel and noise of the settings if left out.

    Attributes
    ----------
    standardiser_ : Standardiser
        Mean and deviation of the training targets.
    counters_ : Counter
        Numerical recoveries.

    Raises
    ------
    ConfigError
        The variant needs inducing points and there are none.

    Examples
    --------
    >>> regressor = PersonalRegressor().fit(features, targets)
    >>> mean, deviation = regressor.predict(new_features, return_std=True)
    """

    standardiser_: Standardiser

    def __init__(self, settings: Settings | None = None, head: RegressionHead | None = None) -> None:
        self.settings = settings or Settings(task="regression")
        self.head = head or RegressionHead.fixed(self.settings)
        self.head.require(self.settings)
        self.counters_: Counter[str] = Counter()
        self._gp: FullRegression | FITCRegression | None = None
        self._scale: SiteScale | None = None
        self._prior: FullRegression | None = None

    def fit(self, features: ArrayLike | Tensor, targets: ArrayLike | Tensor) -> "PersonalRegressor":
        """Condition the GP on a client's data.

        Parameters
        ----------
        features : array or Tensor [N, d]
            Raw features of the kernel network; they are put on the unit sphere here.
        targets : array or Tensor [N]
            In their own units. One sample, or equal targets, give a prediction around that target in units of 1.

        Raises
        ------
        DataError
            No samples, lengths that differ, or targets with NaN or infinity.
        NonFiniteError
            NaN or infinity among the features.
        """
        inputs, y = _checked(features), _as_tensor(targets).detach().double()
        if y.ndim != 1 or len(y) != len(inputs):
            raise DataError(f"There are {len(inputs)} feature rows for targets {list(y.shape)}: give one target a row.")
        self.standardiser_ = Standardiser.fit(y)
        self.counters_ = Counter()
        data = (unit_sphere(inputs).double(), self.standardiser_.apply(y))
        with torch.no_grad():
            self._prior, residuals = None, data[1]
            if VARIANTS[self.settings.variant].labelled_inducing:
                own = data if self.settings.personal_data else None
                self._gp = self.head.on_inducing(own, self.settings, self.counters_)
                self._prior = self.head.on_inducing(None, self.settings, self.counters_)
                residuals = residuals - self._prior.predict(data[0])[0]
            else:
                self._gp = self.head.on_data(*data, self.settings, self.counters_)
            alone = self._prior is not None and not self.settings.personal_data
            self._scale = None if alone else SiteScale.fit(self._gp, residuals)
        return self

    @overload
    def predict(self, features: ArrayLike | Tensor, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, features: ArrayLike | Tensor, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(
        self, features: ArrayLike | Tensor, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Mean, and with `return_std` also standard deviation, of a new target at each row; float64 [T], own units.

        The deviation is that of a target, noise included, not that of the noise-free function. It is infinite for fewer
        than four samples, whose Student law has none; `law` gives mean, scale and degrees of freedom.
        """
        found = self.law(features)
        if not return_std:
            return found.mean.cpu().numpy()
        factor = math.sqrt(found.freedom / (found.freedom - 2)) if 2 < found.freedom < math.inf else 1.0
        deviation = found.scale * (math.inf if found.freedom <= 2 else factor)
        return found.mean.cpu().numpy(), deviation.cpu().numpy()

    def law(self, features: ArrayLike | Tensor) -> StudentLaw:
        """Predictive law of a new target at each row of `features` [T, d], noise included, in the targets' own units.

        It is Student's with n - 1 degrees of freedom (`student`), and normal where the data tell no scale: a single
        sample, equal targets, or ``personal-data = false``.
        """
        if self._gp is None:
            raise DataError("The regressor has no training data yet: call fit first.")
        with torch.no_grad():
            inputs = unit_sphere(_checked(features)).double()
            if self._scale is None:
                mean, v = self._gp.predict(inputs)
                found = StudentLaw(mean, (v + self._gp.noise_variance).sqrt(), math.inf)
            else:
                found = self._scale.law(inputs, 0.0 if self._prior is None else self._prior.predict(inputs)[0])
            own = self.standardiser_
            return StudentLaw(own.undo_mean(found.mean), found.scale * own.deviation, found.freedom)


def _as_tensor(values: ArrayLike | Tensor) -> Tensor:
    return values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))


def _checked(features: ArrayLike | Tensor) -> Tensor:
    tensor = _as_tensor(features)
    if tensor.ndim != 2:
        raise DataError(f"Features have shape {tuple(tensor.shape)}; give a matrix of samples x features.")
    if not torch.isfinite(tensor).all():
        raise NonFiniteError("The features hold NaN or infinity: clean the inputs of the kernel network.")
    return tensor.detach().to(torch.float64)
