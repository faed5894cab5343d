r"""The predictive law of a site that does not know the mean and the scale of its own targets: Student's, not normal.

A site standardises its targets by mean and deviation of its few samples. To take the two as known makes intervals too
narrow: with eight samples "95 %" hold 85 %. Here they are integrated out. The targets are m 1 + t g with g of the
head's law, N(mu0, C) with C = K + s^2 I, a flat prior on m and p(t) = 1 / t. With r = y - mu0 and n samples

.. math::
    \hat m = \frac{1' C^{-1} r}{1' C^{-1} 1}, \qquad e = r - \hat m 1, \qquad t^2 = \frac{e' C^{-1} e}{n - 1},

    y_* \sim \text{Student}_{n-1}\Big( \mu_{0*} + \hat m + c_*' C^{-1} e, \;
        t^2 \big( c_{**} - c_*' C^{-1} c_* + \tfrac{(1 - c_*' C^{-1} 1)^2}{1' C^{-1} 1} \big) \Big).

mu0 is 0 but under ``ip-data``, where it and C are those given the inducing points; t then scales the data's deviations
from mu0. For data of this law (y - mean) / scale has exactly this Student law, whatever m and t are, so intervals hold
what they say at every n. It also corrects the level of a learned noise that is too small for the site; not the ratio of
noise and signal.

t^2 is 1 at least, in the site's standard units: the samples may widen what the head says and never narrow it. A site
that trained the network has features that fit its own targets, so that its e are smaller than those of new samples and
tell nothing of them (t^2 = .3 to .5 after 25 visits, and 95 % intervals that hold 80 %).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pfedgp_core.regression.gp import FITCRegression, FullRegression

__all__ = ["SiteScale", "StudentLaw"]

_SMALLEST = 1.0  # t^2: the head's own level


@dataclass(frozen=True)
class StudentLaw:
    """Student's law of T targets.

    Attributes
    ----------
    mean, scale : Tensor, float64 [T]
    freedom : float
        Degrees of freedom; infinite for the normal law.
    """

    mean: Tensor
    scale: Tensor
    freedom: float


@dataclass(frozen=True)
class SiteScale:
    """Mean and scale of a site's targets beyond those of the head, as its samples tell them.

    Attributes
    ----------
    gp : FullRegression or FITCRegression
        Conditioned on the site's data first, and perhaps on further points.
    ones, errors : Tensor [m]
        1 and e at the data, 0 at further points.
    total : float
        1' C^-1 1.
    mean, variance : float
        m, and t^2 or its floor.
    freedom : int
        n - 1.
    """

    gp: FullRegression | FITCRegression
    ones: Tensor
    errors: Tensor
    total: float
    mean: float
    variance: float
    freedom: int

    @classmethod
    def fit(cls, gp: FullRegression | FITCRegression, residuals: Tensor) -> "SiteScale | None":
        """From residuals r [n]; None where they do not tell a scale: fewer than two, or all equal.

        A block of the inverse is the inverse of the conditional covariance, so zeros at further points condition on
        them.
        """
        n, rest = len(residuals), len(gp.targets) - len(residuals)
        ones, values = (torch.cat([v, v.new_zeros(rest)]) for v in (torch.ones_like(residuals), residuals.double()))
        total = gp.inner(ones, ones)
        mean = gp.inner(ones, values) / total
        errors = values - mean * ones
        square = float(gp.inner(errors, errors))
        tiny = torch.finfo(torch.float64).eps * (1 + float(values.abs().max()) ** 2)
        if n < 2 or not square > n * tiny:
            return None
        return cls(gp, ones, errors, float(total), float(mean), max(square / (n - 1), _SMALLEST), n - 1)

    def law(self, test_inputs: Tensor, prior_mean: Tensor | float = 0.0) -> StudentLaw:
        """Predictive law of targets at `test_inputs` [T, d] on the unit sphere, where mu0 is `prior_mean` [T]."""
        _, latent = self.gp.predict(test_inputs)
        unknown = 1 - self.gp.weigh(test_inputs, self.ones)
        variance = latent.double() + self.gp.noise_variance + unknown.square() / self.total
        mean = prior_mean + self.mean + self.gp.weigh(test_inputs, self.errors)
        return StudentLaw(mean, (self.variance * variance).sqrt(), float(self.freedom))
