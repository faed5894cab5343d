"""On an accelerator an update looks at nothing until its end; a check that fails there makes the update anew."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import NonFiniteError
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.deferred import deferred, holds
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

VARIANTS = ("full", "ip-data", "ip-compute")


def update(variant: str, classes: int, device: str = "cpu") -> tuple[SharedState, Callable[[], object]]:
    settings = Settings(variant=variant, network="mlp", inducing_per_class=30, gp=GPSettings(solver="dense"))
    labels = torch.arange(20 * classes) % classes
    inputs = torch.from_numpy(Stream(1, "inputs").numpy.normal(size=(len(labels), 12)).astype(np.float32))
    state = SharedState.initial(settings, (12,), classes).to(device)
    data = TensorSplit(inputs.to(device), labels.to(device))
    return state, lambda: local_update(state, data, settings, Stream(2, "update", device=device))


@pytest.mark.parametrize("variant", VARIANTS)
def test_deferred_checks_change_nothing(variant: str) -> None:
    plain, work = update(variant, 4)
    work()
    waiting, work = update(variant, 4)
    with deferred(everywhere=True) as checks:
        work()
    assert np.array_equal(plain.to_vector(), waiting.to_vector())
    assert checks.conditions
    assert checks.settle(torch.tensor(2.5)) == (True, 2.5)


def test_a_condition_that_was_taken_as_true_is_found_at_the_end() -> None:
    with deferred(everywhere=True) as checks:
        assert holds(torch.tensor(False))
        assert holds(torch.tensor(True))
    assert checks.settle(torch.tensor(1.0))[0] is False
    assert not holds(torch.tensor(False))


def test_a_matrix_without_a_factor_is_found_at_the_end() -> None:
    with deferred(everywhere=True) as checks:
        safe_cholesky(-torch.eye(3))
    assert not checks.settle(torch.tensor(1.0))[0]


def syncs_of(work: Callable[[], object]) -> int:
    """Times that the host waited for the device."""
    torch.cuda.synchronize()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            work()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing CUDA operation" in str(warning.message) for warning in seen)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("classes", [2, 6])
def test_an_update_waits_for_the_device_at_its_end_alone(variant: str, classes: int) -> None:
    _, work = update(variant, classes, "cuda")
    work()  # what is made once in a process may wait
    # Labels come to the host before anything is under way, and a tree of more than two classes is built there.
    assert syncs_of(work) <= (2 if classes == 2 else 3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_an_update_that_fails_on_the_device_is_made_anew_and_says_why() -> None:
    state, work = update("full", 2, "cuda")
    with torch.no_grad():
        next(state.parameters()).fill_(torch.nan)
    with pytest.raises(NonFiniteError, match="non-finite features"):
        work()
