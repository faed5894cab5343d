"""Client updates leave no memory behind."""

import gc
from pathlib import Path

import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.methods.evaluation import evaluate_client
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream

STATUS = Path("/proc/self/status")


def resident_kb() -> int:
    gc.collect()
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="resident memory is read from Linux's /proc")
@pytest.mark.parametrize("variant", ["full", "ip-data", "ip-compute"])
def test_300_updates_leave_resident_memory_flat(variant):
    settings = Settings(network="mlp", feature_dim=16, variant=variant, inducing_per_class=10)
    state = SharedState.initial(settings, (12,), 4)
    generator = torch.Generator().manual_seed(0)
    # The root and the node below it lie on either side of the size from which the iterative solver is used.
    data = TensorSplit(torch.randn(200, 12, generator=generator), torch.arange(200) % 3)
    after = {}
    for r in range(320):
        local_update(state, data, settings, Stream(0, "train", r))
        if r % 40 == 0:
            evaluate_client(state, data, data, settings, Stream(0, "evaluate", r))
        if r in (19, 319):
            after[r] = resident_kb()
    assert after[319] < 1.05 * after[19]
