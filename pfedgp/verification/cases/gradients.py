"""Gradients of a node's objectives, through the product's own differentiable predict and log_marginal.

Output and length scale enter as logarithms, inputs through their angles, X = (cos theta, sin theta); omega is held
fixed and tau is not scaled.
"""

import math
from typing import Any

import torch
from torch import Tensor

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.naming import canonical, parameters
from pfedgp.verification.cases.nodes import NodeProblem
from pfedgp.verification.cases.question import Question
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation

__all__ = ["Parameters", "evidence_gradient", "named", "predictive_gradient"]


class Parameters:
    """The parameters of a problem as leaves of a graph, by canonical name.

    Parameters
    ----------
    problem : NodeProblem
    names : sequence of str
        ``log outputscale``, ``log lengthscale`` or ``theta<i>``, spaces left out.
    angles : Tensor [n] or None
        Angles of the training inputs.
    """

    def __init__(self, problem: NodeProblem, names: list[str], angles: Tensor | None) -> None:
        dtype = problem.X.dtype
        self.names = names
        self.log_scale = torch.tensor(math.log(problem.output_scale), dtype=dtype, requires_grad=True)
        self.log_length = torch.tensor(math.log(problem.length_scale), dtype=dtype, requires_grad=True)
        self.angles = None
        self.X = problem.X
        if any(name.startswith("theta") for name in names):
            if angles is None or angles.shape != problem.X.shape[:1]:
                raise NotUnderstood("a gradient by an angle needs the input 'theta', one angle for each row of 'X'")
            self.angles = angles.clone().requires_grad_()
            self.X = torch.stack([self.angles.cos(), self.angles.sin()], 1)

    def kernel(self, problem: NodeProblem) -> Kernel:
        """The kernel as a function of the leaves."""
        return problem.kernel(self.log_scale.exp(), self.log_length.exp())

    def gradient(self, objective: Tensor) -> list[float]:
        """Derivatives of a scalar by the named parameters; the graph is kept."""
        leaves = [self.log_scale, self.log_length, *([] if self.angles is None else [self.angles])]
        grads = torch.autograd.grad(objective, leaves, retain_graph=True, allow_unused=True, materialize_grads=True)
        return [self._pick(name, grads) for name in self.names]

    def _pick(self, name: str, grads: tuple[Tensor, ...]) -> float:
        if name == "logoutputscale":
            return float(grads[0])
        if name == "loglengthscale":
            return float(grads[1])
        index = int(name.removeprefix("theta")) if name.startswith("theta") else -1
        if not 0 <= index < len(self.X):
            raise NotUnderstood(f"the parameter {name!r} is not known here")
        return float(grads[2][index])


def evidence_gradient(q: Question) -> Any:
    """Mean over chains of the gradient of log p(y | omega): the gradient of log p(y) (Fisher's identity)."""
    return named(q, lambda names: _evidence_gradient(q.problem, q.node.omega, names, _angles(q)))


def named(q: Question, compute: Any) -> Any:
    """Gradient as a dict where the expected value is one, else as a list in the order of the assert's name."""
    value = q.check.value
    if isinstance(value, dict):
        keys = {key: parameters(canonical(key)) for key in value}
        if any(len(found) != 1 for found in keys.values()):
            raise NotUnderstood(f"the parameters {sorted(value)} are not known")
        return dict(zip(keys, compute([found[0] for found in keys.values()]), strict=True))
    names = parameters(q.text)
    if not names:
        raise NotUnderstood("the name lists no parameters to differentiate by")
    gradient = compute(names)
    return gradient if isinstance(value, list) or len(gradient) != 1 else gradient[0]


def predictive_gradient(q: Question) -> list[list[Any]]:
    """Gradients of log p(y* | y) and its estimators, in rows [angle of x*, y*, parameter, derivative].

    Estimators with omega held fixed: of log mean_c p(y* | omega_c), and mean_c of the gradient of log p(y* | omega_c);
    "true" is the gradient itself, E grad log p(y, y* | omega, omega*) - E grad log p(y | omega).
    """
    rows = q.check.value
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == 4 for row in rows):
        raise NotUnderstood("the expected value is not a list of rows [angle, y*, parameter, derivative]")
    names = sorted({_parameter(row[2]) for row in rows})
    points = sorted({(float(row[0]), int(row[1])) for row in rows})
    if "true" in q.text:
        gradients = {point: _true_gradient(q, names, *point) for point in points}
    else:
        log_mean = "log mean" in q.text
        if not log_mean and "mean c" not in q.text:
            raise NotUnderstood("the name says neither log mean_c, mean_c nor true")
        gradients = {point: _fixed_omega_gradient(q, names, *point, log_mean) for point in points}
    return [
        [row[0], row[1], row[2], gradients[float(row[0]), int(row[1])][names.index(_parameter(row[2]))]] for row in rows
    ]


def _fixed_omega_gradient(q: Question, names: list[str], angle: float, label: int, log_mean: bool) -> list[float]:
    leaves = Parameters(q.problem, names, _angles(q))
    kernel = leaves.kernel(q.problem)
    model = q.problem.model(kernel, leaves.X)
    kss = q.kss
    own = q.problem.output_scale + q.problem.tau
    # A stated kss scales with the kernel as S does: only its constant part, kss - S, is not differentiated.
    prior_variance = None
    if kss is not None and abs(kss - own) > 1e-9:
        prior_variance = leaves.log_scale.exp() + (kss - q.problem.output_scale)
    mu, v = q.problem.predict(model, kernel, _point(q, angle), q.node.omega, prior_variance)
    log_side = log_sigmoid_expectation(mu, v)[0 if label else 1][:, 0]
    return leaves.gradient(torch.logsumexp(log_side, 0) if log_mean else log_side.mean())


def _true_gradient(q: Question, names: list[str], angle: float, label: int) -> list[float]:
    if q.kss is not None and abs(q.kss - q.problem.output_scale - q.problem.tau) > 1e-9:
        raise NotUnderstood("the true gradient is computed for kss = outputscale + tau only")
    if any(name.startswith("theta") for name in names):
        raise NotUnderstood("the true predictive gradient is computed by the scales only")
    joint = q.problem.extended(_point(q, angle)[0], label)
    omega = q.workspace.sample(joint, len(q.node.omega), 60)[1]
    both = _evidence_gradient(joint, omega, names, None)
    alone = _evidence_gradient(q.problem, q.node.omega, names, None)
    return [a - b for a, b in zip(both, alone, strict=True)]


def _evidence_gradient(problem: NodeProblem, omega: Tensor, names: list[str], angles: Tensor | None) -> list[float]:
    leaves = Parameters(problem, names, angles)
    model = problem.model(leaves.kernel(problem), leaves.X)
    return leaves.gradient(model.log_marginal(omega).mean())


def _angles(q: Question) -> Tensor | None:
    return q.inputs.tensor("theta", q.workspace.dtype, 1) if "theta" in q.inputs else None


def _point(q: Question, angle: float) -> Tensor:
    return torch.tensor([[math.cos(angle), math.sin(angle)]], dtype=q.workspace.dtype)


def _parameter(name: Any) -> str:
    found = parameters(canonical(str(name)))
    if len(found) != 1:
        raise NotUnderstood(f"the parameter {name!r} is not known")
    return found[0]
