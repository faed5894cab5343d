"""The peak of memory."""

import torch

from pfedgp.benchmarking.memory import PeakMemory


def test_peak_memory_sees_a_passing_allocation() -> None:
    memory = PeakMemory()
    memory.restart()
    before = memory.megabytes()
    torch.ones(75_000_000)  # 300 MB, freed at once
    peak = memory.megabytes()
    if memory.method == "case":
        assert 250 < peak - before < 350
        memory.restart()
        assert memory.megabytes() < peak - 200
    else:
        assert peak >= before
