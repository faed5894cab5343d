r"""Matrices of the RBF kernel with closed-form gradients: few passes over the n x m entries, which decide its cost.

With rows already divided by the length scale, K = S exp(-|x - y|^2 / 2). For an upstream gradient G and H = G * K
elementwise,

.. math::
    dX = H Y - \operatorname{rowsum}(H) X, \qquad dY = H' X - \operatorname{colsum}(H) Y, \qquad dS = \sum H / S
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["exact_in_products", "rbf_cross", "rbf_gram"]


def rbf_cross(X: Tensor, Y: Tensor, output_scale: float | Tensor) -> Tensor:
    """S exp(-|x_i - y_j|^2 / 2), [..., n, m], of rows X [..., n, d] and Y [..., m, d]; once differentiable."""
    matrix: Tensor = _Cross.apply(X, Y, output_scale)
    return matrix


def rbf_gram(X: Tensor, output_scale: float | Tensor, jitter: float) -> Tensor:
    """The same of X with itself, plus jitter I: symmetric to the bit, its diagonal exactly S + jitter, [..., n, n]."""
    matrix: Tensor = _Gram.apply(X, output_scale, jitter)
    return matrix


class _Cross(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, Y, scale):  # type: ignore[no-untyped-def]
        log_scale = math.log(float(scale))
        K = _exponents(X, Y, log_scale).clamp_max_(log_scale).exp_()
        ctx.save_for_backward(X, Y, K)
        ctx.scale = scale
        return K

    @staticmethod
    @once_differentiable
    def backward(ctx, G):  # type: ignore[no-untyped-def]
        X, Y, K = ctx.saved_tensors
        H = G * K
        g_X = torch.addcmul(H @ Y, H.sum(-1)[..., None], X, value=-1) if ctx.needs_input_grad[0] else None
        g_Y = torch.addcmul(H.mT @ X, H.sum(-2)[..., None], Y, value=-1) if ctx.needs_input_grad[1] else None
        return g_X, g_Y, H.sum() / ctx.scale if ctx.needs_input_grad[2] else None


class _Gram(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, scale, jitter):  # type: ignore[no-untyped-def]
        log_scale = math.log(float(scale))
        half = _exponents(X, X, log_scale)
        # A product X X' need not be symmetric to the last bit: the two triangles may be summed in different order.
        K = (half + half.mT).mul_(0.5).clamp_max_(log_scale).exp_()
        K.diagonal(dim1=-2, dim2=-1).fill_(float(scale) + jitter)
        ctx.save_for_backward(X, K)
        ctx.scale, ctx.jitter = scale, jitter
        return K

    @staticmethod
    @once_differentiable
    def backward(ctx, G):  # type: ignore[no-untyped-def]
        X, K = ctx.saved_tensors
        H = G * K
        g_X = g_scale = None
        if ctx.needs_input_grad[0]:
            # The diagonal cancels, with its jitter.
            g_X = torch.addcmul(H @ X, (H.sum(-1) + H.sum(-2))[..., None], X, value=-1)
            g_X = g_X.addmm_(H.T, X) if X.ndim == 2 else g_X + H.mT @ X
        if ctx.needs_input_grad[1]:
            g_scale = (H.sum() - ctx.jitter * G.diagonal(dim1=-2, dim2=-1).sum()) / ctx.scale
        return g_X, g_scale, None


def _exponents(X: Tensor, Y: Tensor, log_scale: float) -> Tensor:
    """log S - |x_i - y_j|^2 / 2, which rounding can leave slightly above log S."""
    lengths = (log_scale - 0.5 * X.square().sum(-1))[..., None] - 0.5 * Y.square().sum(-1)[..., None, :]
    wide_X, wide_Y = exact_in_products(X, Y)
    if wide_X.dtype != X.dtype:
        return (lengths + wide_X @ wide_Y.mT).to(X.dtype)
    return lengths.addmm_(X, Y.mT) if X.ndim == 2 else lengths.baddbmm_(X, Y.mT)


def exact_in_products(X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """Widen float32 rows to float64 if the process lets matrix products round them to TF32 or bfloat16.

    An error of 1e-3 in a product is 1e-2 in K. Widening, unlike switching the process's precision, also covers the
    backward pass, other threads, and both of torch's interfaces to that precision (which refuse to be mixed).
    """
    if X.dtype != torch.float32:
        return X, Y
    backend = torch.backends.cuda if X.is_cuda else torch.backends.mkldnn
    precision = getattr(getattr(backend, "matmul", None), "fp32_precision", None)
    if precision is None:  # torch before 2.9
        rounded = torch.get_float32_matmul_precision() != "highest"
    else:
        rounded = precision not in ("none", "ieee")
    return (X.double(), Y.double()) if rounded else (X, Y)
