"""The reference of the benchmark: one epoch of plain cross-entropy training, as in FedAvg."""

import copy

import torch
from torch import nn

from pfedgp.benchmarking.cases import FEDERATION_CLASSES
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.numerics.streams import Stream

__all__ = ["PlainEpoch"]


class PlainEpoch:
    """A network with a linear head, trained by SGD with the learning rate, momentum and decay of the pFedGP update.

    Parameters
    ----------
    network : nn.Module
        Copied; a call of the object starts from its weights every time.
    data : TensorSplit
        In memory, normalised; there is no data loader.
    settings : Settings
    stream : Stream
        Initial head, and order of the samples.
    batch : int
        Samples a step.
    """

    def __init__(self, network: nn.Module, data: TensorSplit, settings: Settings, stream: Stream, batch: int) -> None:
        self.data, self.settings, self.stream, self.batch = data, settings, stream, batch
        with torch.no_grad():
            width = network(data.inputs[:1]).shape[1]
        head = nn.Linear(width, FEDERATION_CLASSES, device=data.inputs.device)
        with torch.no_grad():
            head.weight.copy_(stream.child("head").normal(FEDERATION_CLASSES, width) / width**0.5)
            head.bias.zero_()
        self.model = nn.Sequential(copy.deepcopy(network), head)
        self._start = copy.deepcopy(self.model.state_dict())

    def reset(self) -> None:
        """Go back to the first weights."""
        self.model.load_state_dict(self._start)
        self.model.train()

    def run(self) -> None:
        """Train for one epoch."""
        optimiser = torch.optim.SGD(
            self.model.parameters(),
            self.settings.learning_rate,
            momentum=self.settings.momentum,
            weight_decay=self.settings.weight_decay,
        )
        for rows in self.stream.permutation(len(self.data)).split(self.batch):
            optimiser.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(self.model(self.data.inputs[rows]), self.data.labels[rows])
            loss.backward()
            optimiser.step()
