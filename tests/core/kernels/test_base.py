"""Kernels: values, exact diagonals, symmetry, gradients, digits far from the origin."""

import numpy as np
import pytest
import torch

from pfedgp_core.errors import ConfigError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.registry import KERNELS

ALL = pytest.mark.parametrize("name", list(KERNELS))
STATIONARY = pytest.mark.parametrize("name", [name for name in KERNELS if name != "linear"])


def points(n: int, d: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def plain(name: str, X: np.ndarray, Y: np.ndarray, S: float, length: float) -> np.ndarray:
    """The textbook formula, from differences of rows."""
    if name == "linear":
        return S * X @ Y.T
    r = np.sqrt(((X[:, None] - Y[None]) ** 2).sum(-1)) / length
    s3, s5 = np.sqrt(3) * r, np.sqrt(5) * r
    correlation = {
        "rbf": np.exp(-(r**2) / 2),
        "matern12": np.exp(-r),
        "matern32": (1 + s3) * np.exp(-s3),
        "matern52": (1 + s5 + s5**2 / 3) * np.exp(-s5),
    }
    return S * correlation[name]


@ALL
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_values(name, dtype, rtol):
    X, Y = points(7, 3, 0, dtype), points(5, 3, 1, dtype)
    kernel = make_kernel(name, 2.5, 0.7)
    cross = kernel.cross(X, Y)
    assert cross.shape == (7, 5)
    assert cross.dtype == dtype
    np.testing.assert_allclose(
        cross, plain(name, X.double().numpy(), Y.double().numpy(), 2.5, 0.7), rtol=10 * rtol, atol=rtol
    )


@ALL
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("sphere", [True, False])
def test_gram(name, dtype, sphere):
    X = points(23, 6, 2, dtype)
    X = unit_sphere(X) if sphere else X
    kernel = make_kernel(name, 8.0, 1.0)
    gram = kernel.gram(X, 1e-3)
    assert torch.equal(gram, gram.mT)
    assert torch.equal(gram.diagonal(), kernel.diagonal(X) + 1e-3)
    off_diagonal = ~torch.eye(23, dtype=torch.bool)
    difference = (gram - kernel.cross(X, X))[off_diagonal].abs().max()
    assert difference < (1e-13 if dtype == torch.float64 else 1e-5)
    assert torch.linalg.eigvalsh(gram.double()).min() > 0


@STATIONARY
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_stationary_diagonal_is_exact(name, dtype):
    X = 1e3 * points(50, 4, 3, dtype)
    kernel = make_kernel(name, 8.0, 1.0)
    assert torch.equal(kernel.diagonal(X), torch.full((50,), 8.0, dtype=dtype))
    assert torch.equal(kernel.gram(X, 1e-3).diagonal(), torch.full((50,), 8.0 + 1e-3, dtype=dtype))
    assert torch.equal(kernel.gram(X, 0.0).diagonal(), torch.full((50,), 8.0, dtype=dtype))


def test_linear_diagonal():
    X = points(5, 3, 4)
    kernel = make_kernel("linear", 2.0)
    np.testing.assert_allclose(kernel.diagonal(X), 2 * (X**2).sum(1))
    np.testing.assert_allclose(kernel.gram(X, 0.5), 2 * X @ X.T + 0.5 * torch.eye(5))


@STATIONARY
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_never_above_the_output_scale(name, dtype):
    X = unit_sphere(points(40, 20, 5, dtype))
    X = torch.cat([X, X, X + 1e-7])
    kernel = make_kernel(name, 8.0, 1.0)
    assert kernel.cross(X, X).max() <= 8.0
    assert kernel.gram(X, 0.0).max() <= 8.0


@STATIONARY
def test_keeps_its_digits_far_from_the_origin(name):
    X, Y = points(9, 4, 6), points(8, 4, 7)
    offset = torch.full((4,), 1000.0)
    kernel = make_kernel(name, 8.0, 1.0)
    near = kernel.cross(X, Y)
    far = kernel.cross((X + offset).float(), (Y + offset).float())
    assert (far - near).abs().max() < 5e-3  # the inputs themselves are rounded to 6e-5 here


@ALL
def test_gradients(name):
    X, Y = points(4, 3, 8).requires_grad_(), points(3, 3, 9).requires_grad_()
    S = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    length = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda X, Y, S, le: make_kernel(name, S, le).cross(X, Y), (X, Y, S, length))
    assert torch.autograd.gradcheck(lambda X, S, le: make_kernel(name, S, le).gram(X, 0.1), (X, S, length))
    assert torch.autograd.gradcheck(lambda X, S, le: make_kernel(name, S, le).diagonal(X) + 0 * le, (X, S, length))


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52", "linear"])
def test_gradients_where_rows_coincide(name):
    """These kernels are differentiable there; for the stationary ones the gradient is 0."""
    Y = points(3, 3, 10)
    X = Y.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda X: make_kernel(name, 2.0, 0.7).cross(X, Y), (X,), atol=1e-4)


@ALL
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_are_finite_for_duplicates(name, dtype):
    X = unit_sphere(points(6, 5, 11, dtype)).repeat(2, 1).requires_grad_()
    kernel = make_kernel(name, 8.0, 1.0)
    (kernel.gram(X, 1e-3).sum() + kernel.cross(X, X.detach()).sum()).backward()
    assert X.grad.isfinite().all()
    assert X.grad.abs().max() < 1e3


@ALL
def test_learned_scales_give_the_same_numbers(name):
    X, Y = points(5, 3, 12), points(4, 3, 13)
    fixed = make_kernel(name, 3.0, 0.5)
    learned = make_kernel(name, torch.tensor(3.0, dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64))
    assert torch.equal(fixed.cross(X, Y), learned.cross(X, Y))
    assert torch.equal(fixed.gram(X, 1e-3), learned.gram(X, 1e-3))
    assert torch.equal(fixed.diagonal(X), learned.diagonal(X))


@ALL
def test_inputs_are_not_modified(name):
    X, Y = points(5, 3, 14), points(4, 3, 15)
    before = X.clone(), Y.clone()
    kernel = make_kernel(name)
    kernel.cross(X, Y), kernel.gram(X, 1e-3)
    assert torch.equal(X, before[0])
    assert torch.equal(Y, before[1])


@ALL
def test_empty_sets(name):
    kernel = make_kernel(name)
    X, none = points(3, 2, 16), torch.empty(0, 2, dtype=torch.float64)
    assert kernel.cross(X, none).shape == (3, 0)
    assert kernel.cross(none, X).shape == (0, 3)
    assert kernel.gram(none, 1e-3).shape == (0, 0)
    assert kernel.diagonal(none).shape == (0,)


@ALL
@pytest.mark.parametrize("interface", ["legacy", "new"])
def test_exact_where_products_may_be_rounded(name, interface):
    """Whatever precision the process allows its matrix products, kernel and gradient keep float32's."""
    X = unit_sphere(points(30, 8, 17, torch.float32))
    kernel = make_kernel(name)

    def value_and_gradient(X):
        X = X.clone().requires_grad_()
        value = kernel.gram(X, 1e-3) + kernel.cross(X, X.detach().flip(0))
        (value * torch.arange(30)).sum().backward()
        return value.detach(), X.grad

    wanted = value_and_gradient(X)
    new = getattr(getattr(torch.backends.mkldnn, "matmul", None), "fp32_precision", None)
    if interface == "new" and new is None:
        pytest.skip("torch before 2.9 has the legacy interface only")
    try:
        if interface == "legacy":
            torch.set_float32_matmul_precision("medium")
        else:
            torch.backends.mkldnn.matmul.fp32_precision = "bf16"
        got = value_and_gradient(X)
    finally:
        if interface == "legacy":
            torch.set_float32_matmul_precision("highest")
        else:
            torch.backends.mkldnn.matmul.fp32_precision = new
    assert (got[0] - wanted[0]).abs().max() < (1e-5 if name != "matern12" else 1e-2)  # where rows coincide
    torch.testing.assert_close(got[1], wanted[1], rtol=1e-3, atol=5e-2)
    assert got[0].dtype == got[1].dtype == torch.float32


def test_unit_sphere():
    X = points(6, 4, 18)
    np.testing.assert_allclose(unit_sphere(X).norm(dim=1), 1, atol=1e-11)
    np.testing.assert_allclose(unit_sphere(unit_sphere(X)), unit_sphere(X), atol=1e-11)
    assert unit_sphere(X.float()).dtype == torch.float32


def test_unit_sphere_at_zero():
    X = torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    features = unit_sphere(X)
    assert torch.equal(features, torch.zeros_like(X))
    features.sum().backward()
    assert X.grad.isfinite().all()
    X = (1e-3 * points(3, 4, 19)).requires_grad_()
    assert torch.autograd.gradcheck(unit_sphere, (X,), eps=1e-8, atol=1e-3)


def test_unknown_kernel():
    with pytest.raises(ConfigError, match=r"gp.kernel = 'rfb' is not known; choose one of: rbf, matern12"):
        make_kernel("rfb")


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_are_positive(value):
    with pytest.raises(ConfigError, match="output-scale"):
        make_kernel("rbf", value, 1.0)
    with pytest.raises(ConfigError, match="length-scale"):
        make_kernel("rbf", 1.0, value)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@ALL
def test_no_tf32_on_cuda(name):
    X = unit_sphere(points(300, 84, 20))
    kernel = make_kernel(name)
    torch.set_float32_matmul_precision("high")
    try:
        got = kernel.cross(X.float().cuda(), X.flip(0).float().cuda()).cpu()
    finally:
        torch.set_float32_matmul_precision("highest")
    off_diagonal = ~torch.eye(300, dtype=torch.bool).flip(0)
    assert (got - kernel.cross(X, X.flip(0)))[off_diagonal].abs().max() < 5e-5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    rows = torch.randn(5, 4).to(dtype)
    assert torch.equal(unit_sphere(rows), unit_sphere(rows.float()))


@pytest.mark.parametrize(("dtype", "far"), [(torch.float32, 1e20), (torch.float32, 3e38), (torch.float64, 1e200)])
def test_rows_whose_squares_overflow_keep_their_direction(dtype, far):
    """The others keep their bits, and gradients are those of the direction: 0 where a row is so long."""
    rows = torch.tensor([[0.6, -0.8, 0.0], [1.0, 2.0, 2.0], [0.0, 0.0, 0.0]], dtype=dtype)
    long = (rows * torch.tensor([[far], [1.0], [1.0]], dtype=dtype)).requires_grad_()
    found = unit_sphere(long)
    torch.testing.assert_close(found[0], rows[0])
    assert torch.equal(found[1:], unit_sphere(rows[1:]))
    found[:, 0].sum().backward()
    assert torch.isfinite(long.grad).all()
    torch.testing.assert_close(long.grad[0], torch.zeros(3, dtype=dtype))
