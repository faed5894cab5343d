"""A GP node described by a case's inputs, with its chains: everything a rule needs to compute an expected value."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from pfedgp.verification.cases.format import Inputs, NotUnderstood
from pfedgp_core.certificate.evidence import chain_blocks
from pfedgp_core.gp import dense, gibbs
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import KERNELS

__all__ = ["NodeProblem", "SampledNode", "kernel_of", "sample"]

_RBF = re.compile(r"(?:([\d.e+-]+) ?\* ?)?exp\(-\|x-x'\|\^2 ?/ ?(?:2|\(?2 ?\* ?([\d.]+) ?(?:\^|\*\*) ?2\)?)\)")
SMALL = 8  # nodes up to this size afford 20000 chains


def kernel_of(inputs: Inputs) -> tuple[str, float, float]:
    """Name, output scale and length scale; numeric inputs win over the formula, the format's defaults are 8 and 1."""
    text = str(inputs.values.get("kernel") or "rbf").lower().strip()
    scale, length, name = 8.0, 1.0, re.sub(r"[ _/-]", "", text)
    formula = _RBF.fullmatch(text)
    if formula:
        name, scale, length = "rbf", float(formula[1] or 1.0), float(formula[2] or 1.0)
    elif "exp(-|x-x'|^2" in text and "outputscale" in inputs and "lengthscale" in inputs:
        name = "rbf"
    if name not in KERNELS:
        raise NotUnderstood(f"the kernel {text!r} is not known")
    return name, inputs.number("outputscale", scale), inputs.number("lengthscale", length)


@dataclass(frozen=True)
class NodeProblem:
    """Kernel, data and jitter of one binary node; FITC where it has inducing inputs."""

    kernel_name: str
    output_scale: float
    length_scale: float
    tau: float
    X: Tensor
    y: Tensor
    inducing: Tensor | None = None

    @classmethod
    def of(cls, inputs: Inputs, dtype: torch.dtype) -> "NodeProblem":
        """Read the inputs X, y, tau, and Xbar where there is one."""
        X, y = inputs.tensor("X", dtype, 2), inputs.tensor("y", torch.int64, 1)
        if len(X) != len(y) or not bool(((y == 0) | (y == 1)).all()):
            raise NotUnderstood("input 'y' is not one 0 or 1 for each row of 'X'")
        inducing = inputs.tensor("Xbar", dtype, 2) if "Xbar" in inputs else None
        return cls(*kernel_of(inputs), inputs.number("tau"), X, y, inducing)

    @property
    def key(self) -> str:
        """Text that is equal for equal problems, so that cases share their chains."""
        arrays = [None if a is None else a.tolist() for a in (self.X, self.y, self.inducing)]
        return repr((self.kernel_name, self.output_scale, self.length_scale, self.tau, arrays))

    def kernel(self, output_scale: float | Tensor | None = None, length_scale: float | Tensor | None = None) -> Kernel:
        """The kernel, with other scales where they are given."""
        return make_kernel(
            self.kernel_name,
            self.output_scale if output_scale is None else output_scale,
            self.length_scale if length_scale is None else length_scale,
        )

    def model(self, kernel: Kernel | None = None, X: Tensor | None = None) -> FullGP | FITC:
        """The product's GP for this problem, with another kernel or other inputs where they are given."""
        kernel, X = kernel or self.kernel(), self.X if X is None else X
        if self.inducing is None:
            return FullGP(kernel, X, self.y, self.tau)
        return FITC(kernel, X, self.y, self.inducing, self.tau)

    def predict(
        self, model: FullGP | FITC, kernel: Kernel, Xs: Tensor, omega: Tensor, kss: float | Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Moments of f* with the given prior variance kss; None stands for the product's own, k** + tau."""
        own = kernel.diagonal(Xs) + self.tau
        if kss is None or bool(((own - kss).abs() <= 1e-9).all()):
            return model.predict(Xs, omega)
        if isinstance(model, FullGP):
            return dense.predictive(model.gram, kernel.cross(model.inputs, Xs), own * 0 + kss, omega, model.kappa)
        mu, v = model.predict(Xs, omega)
        return mu, v + (kss - own)

    def extended(self, x: Tensor, label: int) -> "NodeProblem":
        """The problem with one more training point."""
        return replace(self, X=torch.cat([self.X, x[None]]), y=torch.cat([self.y, self.y.new_tensor([label])]))


def sample(problem: NodeProblem, chains: int, sweeps: int, seed: int) -> tuple[Tensor, Tensor]:
    """Run independent chains of the product's Gibbs sampler in blocks; return f and omega, each [C, n]."""
    model = problem.model()
    stream = Stream(seed, "verify", problem.key)
    sizes = [len(block) for block in chain_blocks(torch.empty(chains, len(problem.y)))]
    states = [gibbs.run(model, size, sweeps, stream.child(i)) for i, size in enumerate(sizes)]
    return torch.cat([s.f for s in states]), torch.cat([s.omega for s in states])


@dataclass(frozen=True)
class SampledNode:
    """A problem with its omegas [C, n]: posterior chains, or the one omega that a case states.

    Attributes
    ----------
    f : Tensor [C, n] or None
        The latents drawn with the omegas; None for a stated omega.
    Xs : Tensor [T, d] or None
    kss : float or None
    """

    problem: NodeProblem
    omega: Tensor
    f: Tensor | None
    Xs: Tensor | None
    kss: float | None

    @cached_property
    def model(self) -> FullGP | FITC:
        """The product's GP."""
        return self.problem.model()

    @property
    def kappa(self) -> Tensor:
        """y - 1/2, [n]."""
        return self.model.kappa

    @cached_property
    def star(self) -> tuple[Tensor, Tensor]:
        """Moments of f* in every chain, each [C, T]."""
        if self.Xs is None:
            raise NotUnderstood("the case has no input 'Xs'")
        return self.problem.predict(self.model, self.problem.kernel(), self.Xs, self.omega, self.kss)

    @cached_property
    def latent_moments(self) -> tuple[Tensor, Tensor]:
        """Mean [n] and covariance [n, n] of the training latents, mixed over chains."""
        return mixed(self.model.posterior(block) for block in self._blocks(len(self.kappa)))

    @cached_property
    def inducing_moments(self) -> tuple[Tensor, Tensor]:
        """Mean [M] and covariance [M, M] of the inducing latents, mixed over chains."""
        if not isinstance(self.model, FITC):
            raise NotUnderstood("the case has no inducing inputs 'Xbar'")
        assert self.problem.inducing is not None
        return mixed(self.model.inducing_posterior(block) for block in self._blocks(len(self.problem.inducing)))

    def _blocks(self, size: int) -> tuple[Tensor, ...]:
        blocks: tuple[Tensor, ...] = self.omega.split(max(1, 2**23 // size**2))
        return blocks


def mixed(parts: Iterator[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Mean and covariance of a mixture of Gaussians given in blocks of (means [c, n], covariances [c, n, n])."""
    means, within = [], []
    for mean, covariance in parts:
        means.append(mean)
        within.append(covariance.sum(0))
    all_means = torch.cat(means)
    centred = all_means - all_means.mean(0)
    return all_means.mean(0), (torch.stack(within).sum(0) + centred.T @ centred) / len(all_means)
