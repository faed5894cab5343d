"""safe_cholesky: the usual case, repairs on the members that need them, named errors, gradients."""

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfedgp_core.errors import NonFiniteError, NotPositiveDefiniteError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.linalg import BLOCK, inverse, safe_cholesky


def well_conditioned(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    *batch, n = shape
    root = torch.randn(*batch, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (root @ root.mT / n + torch.eye(n, dtype=torch.float64)).to(dtype)


def singular(n: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Rank 1, mean diagonal 1: needs jitter."""
    return torch.ones(n, n, dtype=dtype)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 4), (0,), (0, 3), (4, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_usual_case_is_the_plain_factor(shape, dtype):
    A, counters = well_conditioned(*shape, dtype=dtype), Counter()
    assert torch.equal(safe_cholesky(A, counters), torch.linalg.cholesky(A))
    assert not counters


def test_repairs_only_the_members_that_failed():
    good = well_conditioned(2, 6, dtype=torch.float32)
    A = torch.stack([good[0], singular(6), good[1], 4 * singular(6)]).reshape(2, 2, 6, 6)
    before, counters = A.clone(), Counter()
    L = safe_cholesky(A, counters)
    assert torch.equal(A, before)
    assert counters == {"cholesky_jitter": 2}
    assert torch.equal(L[0, 0], torch.linalg.cholesky(good[0]))
    assert torch.equal(L[1, 0], torch.linalg.cholesky(good[1]))
    shift = (L @ L.mT - A).diagonal(dim1=-2, dim2=-1)
    assert 0 < shift[0, 1].max() < 2e-5
    assert 0 < shift[1, 1].max() < 8e-5


def test_works_without_counters():
    assert safe_cholesky(singular(4)).isfinite().all()


def test_jitter_is_the_smallest_power_of_ten_that_works():
    for smallest_eigenvalue, jitter in ((-3e-6, 1e-5), (-3e-4, 1e-3), (-0.02, 0.1)):
        basis, _ = torch.linalg.qr(torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
        values = torch.ones(5, dtype=torch.float64)
        values[0] = smallest_eigenvalue
        A = basis * values @ basis.T
        A = A / A.diagonal().mean()
        counters = Counter()
        L = safe_cholesky(A, counters)
        assert_allclose((L @ L.T - A).diagonal(), jitter, rtol=1e-6)
        assert counters == {"cholesky_jitter": 1}


def test_duplicate_points_in_float32():
    """A kernel matrix of 1000 points, half of them twice, without the model's jitter."""
    X = unit_sphere(torch.randn(500, 8, generator=torch.Generator().manual_seed(2)))
    K = make_kernel("rbf").gram(torch.cat([X, X]), 0.0)
    counters = Counter()
    L = safe_cholesky(K, counters)
    assert (L @ L.mT - K).abs().max() < 1e-2
    assert counters["cholesky_jitter"] == 1


def test_float64_where_float32_cannot():
    """Entries near float32's largest number, whose sum, and with it the mean diagonal, is beyond it."""
    hard = 3e38 * torch.tensor([[1.0, 1.0], [1.0, 0.99]])  # indefinite, so that no rounding can make a factor of it
    counters = Counter()
    L = safe_cholesky(torch.stack([hard, torch.eye(2)]), counters)
    assert L.dtype == torch.float32
    assert counters == {"cholesky_float64": 1, "cholesky_jitter": 1}
    assert_allclose(L[0].double() @ L[0].double().T, hard.double() + 0.01 * 0.995 * 3e38 * torch.eye(2), rtol=1e-6)
    assert torch.equal(L[1], torch.eye(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_indefinite_matrix(dtype):
    A = torch.stack([torch.eye(3, dtype=dtype), torch.diag(torch.tensor([1.0, 1.0, -1.0], dtype=dtype))])
    with pytest.raises(NotPositiveDefiniteError, match="1 of 2 matrices of size 3 have no Cholesky factor"):
        safe_cholesky(A)
    with pytest.raises(NotPositiveDefiniteError):
        safe_cholesky(torch.zeros(3, 3, dtype=dtype))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [(0, 0), (3, 3), (2, 0), (3, 1)])
def test_not_finite(value, place):
    A = well_conditioned(3, 4, dtype=torch.float32)
    A[1][place] = A[1][place[::-1]] = value
    with pytest.raises(NonFiniteError, match="1 of 3 matrices hold NaN or infinity"):
        safe_cholesky(A)


def test_gradient():
    A = well_conditioned(2, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda A: safe_cholesky((A + A.mT) / 2), (A,))


def test_gradient_through_a_repair():
    counters = Counter()
    scale = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    A = scale[:, None, None] * torch.stack([singular(3, torch.float64), torch.eye(3, dtype=torch.float64)])
    L = safe_cholesky(A, counters)
    L.diagonal(dim1=-2, dim2=-1).log().sum().backward()
    assert counters == {"cholesky_jitter": 1}
    # Half the log-determinant of s 11' + t I has the derivative 3 / (2 (3 s + t)), with t = 1e-6 here.
    assert_allclose(scale.grad, [0.5, 0.75], rtol=1e-5)


@settings(max_examples=60)
@given(
    n=st.integers(1, 12),
    rank=st.integers(0, 12),
    scale=st.floats(1e-6, 1e6),
    seed=st.integers(0, 1000),
)
def test_any_semidefinite_matrix_is_factored(n, rank, scale, seed):
    root = torch.randn(n, min(n, rank + 1), generator=torch.Generator().manual_seed(seed))
    A = scale * (root @ root.mT)
    counters = Counter()
    L = safe_cholesky(A, counters)
    assert torch.equal(L, L.tril())
    tolerance = 1e-3 if counters else 1e-5
    assert (L @ L.mT - A).abs().max() <= tolerance * A.diagonal().max()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_repairs_on_cuda():
    counters = Counter()
    A = torch.stack([torch.eye(6), singular(6)]).cuda()
    L = safe_cholesky(A, counters)
    assert L.isfinite().all()
    assert counters == {"cholesky_jitter": 1}
    A[0, 2, 1] = float("nan")
    with pytest.raises(NonFiniteError):
        safe_cholesky(A)


@pytest.mark.parametrize("n", [0, 1, 20, BLOCK, BLOCK + 1, 75, 95])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 2e-5), (torch.float64, 1e-13)])
def test_inverse_by_halves(n, dtype, atol):
    root = torch.randn(3, n, 2 * n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    B = torch.eye(n, dtype=torch.float64) + root @ root.mT
    before = B.clone()
    torch.testing.assert_close(inverse(B.to(dtype)).double(), torch.linalg.inv(B), atol=atol, rtol=0)
    assert torch.equal(B, before)
