"""A network that makes the weights of another one from a client's embedding, as pFedHN's server has it.

m = A_L relu(... relu(A_1 v + c_1)) + c_L of an embedding v; each tensor of the target is H m + h, a linear head of its
own.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from pfedgp_core.learning.local_sgd import take_step
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.numerics.streams import Stream

__all__ = ["HyperNetwork", "hyper_sgd"]


class HyperNetwork(nn.Module):
    """The trunk and a head for each tensor of the target.

    Parameters
    ----------
    widths : sequence of int
        Of the embedding, and of each layer of the trunk.
    shapes : mapping of str to shape
        The target's tensors by name, in the order in which their values lie in a vector.
    stream : Stream, optional
        Of the first weights, which are uniform as torch draws them for a linear layer; zeros if left out.
    """

    def __init__(
        self, widths: Sequence[int], shapes: Mapping[str, Sequence[int]], stream: Stream | None = None
    ) -> None:
        super().__init__()
        self.shapes = {name: torch.Size(shape) for name, shape in shapes.items()}
        layers = list(pairwise(widths))
        self.trunk = nn.ModuleList([nn.utils.skip_init(nn.Linear, *layer) for layer in layers])
        self.heads = nn.ModuleList(
            [nn.utils.skip_init(nn.Linear, widths[-1], shape.numel()) for shape in self.shapes.values()]
        )
        self._draw(stream)

    def forward(self, embedding: Tensor) -> Tensor:
        """Shapes: [e] -> the target's values as one vector [P]."""
        for i, layer in enumerate(self.trunk):
            embedding = layer(torch.relu(embedding) if i else embedding)
        return torch.cat([head(embedding) for head in self.heads])

    def generated(self, embedding: Tensor) -> dict[str, Tensor]:
        """The target's tensors by name."""
        parts = self(embedding).split([shape.numel() for shape in self.shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    @torch.no_grad()
    def _draw(self, stream: Stream | None) -> None:
        for i, layer in enumerate((*self.trunk, *self.heads)):
            bound = layer.in_features**-0.5
            for p in (layer.weight, layer.bias):
                if stream is None:
                    p.zero_()
                else:
                    drawn = stream.child(i, p.ndim).numpy.random(tuple(p.shape), dtype="float32")
                    p.copy_(torch.from_numpy(drawn).mul_(2 * bound).sub_(bound))


def hyper_sgd(
    network: HyperNetwork,
    embeddings: nn.Parameter,
    row: int,
    delta: Tensor,
    optimiser: SGD,
    clip_norm: float,
) -> UpdateResult:
    """One step of the server for one visit: the vector-Jacobian product of `delta` is the gradient.

    Parameters
    ----------
    network : HyperNetwork
    embeddings : Parameter [clients, e]
    row : int
        The client that was visited.
    delta : Tensor [P]
        What the client received minus what it sent back.
    optimiser : SGD
        Of the network's parameters and the embeddings, which all move: those of other clients by decay and momentum.
    clip_norm : float
        Largest norm of the gradient.

    Returns
    -------
    UpdateResult
        One step, or none where the gradient is not finite.
    """
    result = UpdateResult()
    optimiser.zero_grad()
    agreement = network(embeddings[row]) @ delta
    agreement.backward()
    take_step([*network.parameters(), embeddings], agreement.detach(), optimiser, clip_norm, result)
    return result
