"""Rules for GP regression with Gaussian noise: full, FITC, and inducing inputs with targets of their own."""

import math
from typing import Any

import torch
from torch import Tensor

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.gradients import named
from pfedgp.verification.cases.nodes import kernel_of
from pfedgp.verification.cases.question import Question, Rule, answer
from pfedgp.verification.topics.ipdata import in_mode
from pfedgp_core.gp import dense
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.regression.gp import FITCRegression, FullRegression

__all__ = ["REGRESSION_RULES"]

_LEAVES = ("logoutputscale", "loglengthscale", "lognoisevar")


class _Regression:
    """The regression of a case, with its parameters as leaves of a graph."""

    def __init__(self, q: Question) -> None:
        dtype, inputs = q.workspace.dtype, q.inputs
        name, scale, length = kernel_of(inputs)
        values = (scale, length, inputs.number("noise_var"))
        self.leaves = [torch.tensor(math.log(value), dtype=dtype, requires_grad=True) for value in values]
        scale_, length_, self.noise = (leaf.exp() for leaf in self.leaves)
        self.kernel = make_kernel(name, scale_, length_)
        self.X, self.y, self.tau = inputs.tensor("X", dtype, 2), inputs.tensor("y", dtype, 1), inputs.number("tau")
        if len(self.X) != len(self.y):
            raise NotUnderstood("input 'y' does not have one value for each row of 'X'")
        self.Xs, self.kss = q.test_inputs, q.kss
        self.fitc = "Xbar" in inputs
        if self.fitc:
            inducing = inputs.tensor("Xbar", dtype, 2)
            self.model: Any = FITCRegression(self.kernel, self.X, self.y, inducing, self.noise, self.tau)
        else:
            self.model = FullRegression(self.kernel, self.X, self.y, self.noise, self.tau)

    def star(self) -> tuple[Tensor, Tensor]:
        """Moments of f* [T]; the prior variance of the product's model is replaced by a stated kss."""
        if self.Xs is None:
            raise NotUnderstood("the case has no input 'Xs'")
        mu, v = self.model.predict(self.Xs)
        return mu, v if self.kss is None else v + (self.kss - self.kernel.diagonal(self.Xs) - self.tau)

    def latent(self) -> tuple[Tensor, Tensor]:
        """Mean [n] and covariance [n, n] of the training latents: omega = 1 / s^2, kappa = y / s^2."""
        if self.fitc:
            moments: tuple[Tensor, Tensor] = self.model.posterior()
            return moments
        precision = torch.ones_like(self.y) / self.noise
        mean, covariance = dense.posterior(self.kernel.gram(self.X, self.tau), precision[None], self.y * precision)
        return mean[0], covariance[0]

    def inducing(self) -> tuple[Tensor, Tensor]:
        """Mean [M] and covariance [M, M] of the inducing latents."""
        if not self.fitc:
            raise NotUnderstood("the case has no inducing inputs 'Xbar'")
        moments: tuple[Tensor, Tensor] = self.model.inducing_posterior()
        return moments

    def gradient(self, names: list[str]) -> list[float]:
        """Derivatives of log p(y) by the logarithms of the named parameters."""
        if not set(names) <= set(_LEAVES):
            raise NotUnderstood(f"the parameters {names} are not those of a regression")
        gradients = torch.autograd.grad(self.model.log_marginal(), self.leaves)
        return [float(gradients[_LEAVES.index(name)]) for name in names]


def _target_variance(q: Question) -> Tensor:
    regression = _Regression(q)
    return regression.star()[1] + regression.noise


def _moded(q: Question) -> Any:
    inner = in_mode(q)
    if inner.head.startswith("mean log"):
        # The targets of the predicted data are the case's own y, which the mode replaced by ybar.
        regression = _Regression(inner)
        assert regression.Xs is not None
        return regression.model.log_density(regression.Xs, q.inputs.tensor("y", q.workspace.dtype, 1)).mean()
    return answer(inner, REGRESSION_RULES)


REGRESSION_RULES = (
    Rule(r"^(train|test)", _moded),
    Rule(r"^d |^d/d|^grad|gradient", lambda q: named(q, _Regression(q).gradient)),
    Rule(r"log marginal|log p\(y\)|log evidence", lambda q: _Regression(q).model.log_marginal()),
    Rule(
        r"^ystar var|^(predictive )?(y|target) variance|^predictive variance|^var(iance)?( of)? ystar", _target_variance
    ),
    Rule(r"^mu\b|^mustar|^(e|mean( of)?) (fstar|ystar)", lambda q: _Regression(q).star()[0]),
    Rule(r"^vstar|^latent variance|^var(iance)?( of)? fstar", lambda q: _Regression(q).star()[1]),
    Rule(r"^fbar mean|^(e|mean( of)?) fbar", lambda q: _Regression(q).inducing()[0]),
    Rule(r"^fbar cov|^cov(ariance)?( of)? fbar", lambda q: _Regression(q).inducing()[1]),
    Rule(r"^f mean|^(e|mean( of)?) f\b", lambda q: _Regression(q).latent()[0]),
    Rule(r"^f cov|^cov(ariance)?( of)? f\b", lambda q: _Regression(q).latent()[1]),
)
