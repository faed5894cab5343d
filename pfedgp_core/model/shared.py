"""The values that server and clients share: network, inducing inputs, kernel scales; one flat float32 vector."""

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.heads.make import make_head
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.model.flat import fill, flatten, length
from pfedgp_core.model.network import build_network, feature_width
from pfedgp_core.model.shared_head import SharedHead, random_start
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS

__all__ = ["SharedState"]

INDUCING_SPREAD = 0.01  # they enter the kernel through the unit sphere; short rows move fast at first


class SharedState(nn.Module):
    """The federation's shared parameters.

    Float parameters and float buffers travel; integer buffers (counters) stay where they are, because an average of
    counters means nothing.

    Attributes
    ----------
    network : nn.Module
        Maps inputs [N, ...] to features [N, d].
    inducing : Parameter [K, M, d] or None
        Inducing inputs of every class, in feature space (variants ``ip-data`` and ``ip-compute``).
    log_scales : Parameter [2] or None
        Logarithms of the kernel's output and length scale, where they are learned.
    log_noise : Parameter [1] or None
        Regression: logarithm of what the noise variance has above its floor.
    head : SharedHead or None
        Its log odds are the prior means of the clients' trees, where ``gp.prior-mean = head``.
    inducing_targets : Parameter [M] or None
        Regression by ``ip-data``: standardised targets of the inducing inputs, of which there is one set (K = 1).
    """

    def __init__(
        self,
        network: nn.Module,
        inducing: Tensor | None = None,
        log_scales: Tensor | None = None,
        log_noise: Tensor | None = None,
        inducing_targets: Tensor | None = None,
        head: SharedHead | None = None,
    ) -> None:
        super().__init__()
        self.network, self.head = network, head
        self.inducing = None if inducing is None else nn.Parameter(inducing)
        self.log_scales = None if log_scales is None else nn.Parameter(log_scales)
        self.log_noise = None if log_noise is None else nn.Parameter(log_noise)
        self.inducing_targets = None if inducing_targets is None else nn.Parameter(inducing_targets)

    @classmethod
    def initial(cls, settings: Settings, input_shape: tuple[int, ...], class_count: int) -> "SharedState":
        """The model before round 1, decided by ``settings.seed`` alone.

        Parameters
        ----------
        settings : Settings
        input_shape : tuple
            Shape of one input.
        class_count : int
            Classes of the whole federation; without meaning in regression.
        """
        network = build_network(
            settings.network,
            input_shape,
            settings.feature_dim,
            Stream(settings.seed, "initial-network").torch_generator,
        )
        head = make_head(settings)
        inducing = log_scales = shared_head = None
        if settings.gp.prior_mean == "head":
            shared_head = SharedHead(feature_width(network, input_shape), class_count)
            random_start(shared_head, settings.seed)
        if VARIANTS[settings.variant].needs_inducing:
            width = feature_width(network, input_shape)
            shape = (head.inducing_sets(class_count), settings.inducing_per_class, width)
            inducing = INDUCING_SPREAD * Stream(settings.seed, "initial-inducing").normal(*shape)
        if settings.gp.learn_scales:
            log_scales = torch.tensor([settings.gp.output_scale, settings.gp.length_scale]).log()
        return cls(network, inducing, log_scales, head=shared_head, **head.extras())

    def kernel(self, settings: Settings) -> Kernel:
        """The kernel with fixed scales, or with the learned ones."""
        if self.log_scales is None:
            return make_kernel(settings.gp.kernel, settings.gp.output_scale, settings.gp.length_scale)
        output_scale, length_scale = self.log_scales.exp().unbind()
        return make_kernel(settings.gp.kernel, output_scale, length_scale)

    def _tensors(self) -> list[Tensor]:
        return [t for t in (*self.parameters(), *self.buffers()) if t.is_floating_point()]

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return length(self._tensors())

    def inducing_places(self) -> slice:
        """Where the inducing inputs are in the flat vector; nowhere, where there are none."""
        start = 0
        for tensor in self._tensors():
            if tensor is self.inducing:
                return slice(start, start + tensor.numel())
            start += tensor.numel()
        return slice(0, 0)

    def to_vector(self) -> np.ndarray:
        """A copy of all shared values, float32 [size]."""
        return flatten(self._tensors())

    def load_vector(self, vector: np.ndarray) -> None:
        """Take over all shared values.

        Raises
        ------
        DataError
            The vector has another length or holds non-finite values.
        """
        remedy = "server and client must use the same network, feature-dim, variant and input shape."
        fill(self._tensors(), vector, "The shared vector", remedy)
