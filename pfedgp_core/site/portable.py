"""A saved site as one module: from raw inputs to features, latent moments and probabilities."""

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.data.value_range import BYTES
from pfedgp_core.model.frozen import FrozenNetwork
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.tree.portable import PortableTree

__all__ = ["PortableSite", "from_bytes"]


class PortableSite(nn.Module):
    """Maps inputs [N, *input_shape] to features [N, d], mean and variance [N, V] of every node, probabilities [N, k].

    Inputs are float32: images of bytes as numbers from 0 to 255, others as the model takes them.

    Parameters
    ----------
    site : SavedSite
        Raises as `PortableTree`.
    """

    def __init__(self, site: SavedSite) -> None:
        super().__init__()
        model = site.model
        shape = (1, -1) + (1,) * (len(model.input_shape) - 1)
        divisor = 255.0 if from_bytes(site) else 1.0
        for name, values in (("mean", model.mean), ("std", model.std)):
            self.register_buffer(name, torch.from_numpy(np.array(values, np.float32)).view(shape))
        metric = model.metric
        self.register_buffer("metric", None if metric is None else metric.root)
        self.on_sphere = metric is not None and not metric.keeps_length
        self.divisor, self.network = divisor, model.state.network
        # A frozen backbone is beside its network's modules, and a tracer follows registered ones alone.
        self.backbone = self.network.backbone if isinstance(self.network, FrozenNetwork) else None
        self.tree = PortableTree(site.classifier, model.temperature)

    mean: Tensor
    std: Tensor
    metric: Tensor | None

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See the class."""
        features = self.network((inputs / self.divisor - self.mean) / self.std)
        if self.on_sphere:
            features = features * (features.square().sum(-1, keepdim=True) + 1e-12).rsqrt()
        if self.metric is not None:
            features = features @ self.metric
        return features, *self.tree(features)


def from_bytes(site: SavedSite) -> bool:
    """Whether the site's model takes images of bytes."""
    return len(site.model.input_shape) == 3 and site.model.value_range in ("", BYTES)
