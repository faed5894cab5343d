"""Where a process computes: names of devices, and a memory that is full."""

import pytest
import torch

from pfedgp_core.devices import choose_device, explain_memory
from pfedgp_core.errors import ConfigError, DeviceMemoryError


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch):
    def pretend(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    return pretend


def test_without_a_gpu(gpus) -> None:
    gpus(0)
    assert choose_device() == choose_device("cpu") == choose_device("") == torch.device("cpu")
    with pytest.raises(ConfigError, match="no GPU that PyTorch"):
        choose_device("cuda")


def test_with_two_gpus(gpus) -> None:
    gpus(2)
    assert choose_device("auto") == choose_device("cuda") == choose_device("cuda:0") == torch.device("cuda", 0)
    assert choose_device("CUDA:1") == torch.device("cuda", 1)
    assert choose_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match="the GPUs cuda:0 to cuda:1"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "mps"])
def test_unknown_names(name: str, gpus) -> None:
    gpus(1)
    with pytest.raises(ConfigError, match="give auto, cpu, cuda or a GPU by its number"):
        choose_device(name)


def test_a_full_memory_has_a_named_error() -> None:
    with pytest.raises(DeviceMemoryError, match="cpu ran out of memory"), explain_memory(torch.device("cpu")):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
    with pytest.raises(RuntimeError, match="other"), explain_memory(torch.device("cpu")):
        raise RuntimeError("other")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_whose_memory_is_full() -> None:
    device = choose_device("cuda")
    with pytest.raises(DeviceMemoryError, match="cuda:0 ran out of memory"), explain_memory(device):
        torch.empty(2**50, dtype=torch.uint8, device=device)
