"""Frozen backbones for tests, as files of TorchScript."""

import warnings
from pathlib import Path

import torch
from torch import nn

WIDTH = 12


def backbone(seed: int = 0, channels: int = 1) -> nn.Module:
    """A small network with batch normalisation, [N, channels, H, W] -> [N, 12, 1, 1]; it has seen some data."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Conv2d(channels, WIDTH, 3), nn.BatchNorm2d(WIDTH), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )
        network(torch.randn(40, channels, 8, 8))
    return network.eval()


def write_backbone(path: Path, seed: int = 0) -> Path:
    """Write one for images 1 x 8 x 8."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.trace(backbone(seed), torch.zeros(2, 1, 8, 8)).save(str(path))
    return path
