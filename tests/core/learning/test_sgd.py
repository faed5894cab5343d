"""SGD: the same bits as torch's, without torch's compiler in memory."""

import subprocess
import sys

import pytest
import torch

from pfedgp_core.learning.sgd import SGD

LEARN = """
import sys
from pfedgp_core.config import Settings
from pfedgp_core.model.shared import SharedState
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.methods.update import local_update
import torch
settings = Settings()
data = TensorSplit(torch.randn(30, 64), torch.arange(30) % 3)
state = SharedState.initial(settings, (64,), 3)
result = local_update(state, data, settings, Stream(0, "x"))
assert result.steps == 1, result
assert "torch._dynamo" not in sys.modules
"""


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 1e-3])
def test_the_same_bits_as_torch(momentum: float, weight_decay: float) -> None:
    generator = torch.Generator().manual_seed(1)
    start = [torch.randn(shape, generator=generator) for shape in ((7, 5), (11,), (), (3,))]
    ours, theirs = ([value.clone().requires_grad_() for value in start] for _ in range(2))
    own = SGD(ours, 0.05, momentum, weight_decay)
    torch_own = torch.optim.SGD(theirs, 0.05, momentum=momentum, weight_decay=weight_decay)
    for step in range(5):
        own.zero_grad()
        torch_own.zero_grad()
        for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if index == 3 and step < 2:
                continue  # a parameter that gets its first gradient later
            a.grad = torch.randn(a.shape, generator=generator)
            b.grad = a.grad.clone()
        own.step()
        torch_own.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not torch.equal(ours[0], start[0])
    assert not torch.equal(ours[3], start[3])


@pytest.mark.slow
def test_a_local_update_does_not_import_torchs_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", LEARN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
