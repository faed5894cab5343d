"""Shared weights from the middle of a training run: random ones would give unrealistic kernel matrices.

At initialisation all features of a network are nearly alike, the kernel matrix has a short spectrum, and iterative
solvers look faster than they are. So the weights that are timed have been trained for some rounds.
"""

from functools import lru_cache

import torch
from torch import nn

from pfedgp.benchmarking.cases import FEDERATION_CLASSES
from pfedgp.benchmarking.images import INPUT_SHAPE, digit_images, easily_confused
from pfedgp_core.config import Settings
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS

__all__ = ["CIFAR10_SPECTRUM", "spectrum", "trained_network", "trained_state"]

ROUNDS = 40
CLIENT_SAMPLES = 160
CLASS_COUNTS = (2, 4, 10)  # of the clients, in turn
LEARNING_RATE = 0.03
PROBE_SAMPLES = 400
FLOOR = 0.1  # directions of the kernel matrix with less prior variance hardly matter to a label
CIFAR10_SPECTRUM = {2: 115, 10: 157}
"""For comparison, by classes: the same of the paper's LeNet after 1000 rounds on CIFAR-10, measured elsewhere."""


@lru_cache(maxsize=4)
def trained_state(variant: str, inducing_per_class: int, seed: int) -> SharedState:
    """The shared model of a variant: a trained network, the same for all variants, and inducing inputs.

    Inducing inputs, which take hundreds of rounds to find their classes, lie at features of images of their class.

    Parameters
    ----------
    variant : str
    inducing_per_class : int
    seed : int
        Decides initial weights and data.

    Returns
    -------
    SharedState
        Shared between calls: not to be modified.
    """
    network = trained_network(seed)
    if not VARIANTS[variant].needs_inducing:
        return SharedState(network)
    count = FEDERATION_CLASSES * inducing_per_class
    images = digit_images(tuple(range(FEDERATION_CLASSES)), count, Stream(seed, "inducing"))
    features = unit_sphere(compute_features(network, images.inputs))
    return SharedState(network, features[images.labels.argsort()].view(FEDERATION_CLASSES, inducing_per_class, -1))


@lru_cache(maxsize=1)
def trained_network(seed: int) -> nn.Module:
    """The kernel network after ``ROUNDS`` updates of ``full``, each by a client with its own data."""
    settings = Settings(variant="full", network="lenet", learning_rate=LEARNING_RATE, seed=seed)
    state = SharedState.initial(settings, INPUT_SHAPE, FEDERATION_CLASSES)
    for round in range(ROUNDS):
        stream = Stream(seed, "warm-start", round)
        count = CLASS_COUNTS[round % len(CLASS_COUNTS)]
        chosen = stream.child("classes").numpy.permutation(FEDERATION_CLASSES)[:count]
        data = digit_images(tuple(sorted(chosen.tolist())), CLIENT_SAMPLES, stream.child("images"))
        local_update(state, data, settings, stream.child("update"))
    return state.network


@lru_cache(maxsize=16)
def spectrum(classes: int, seed: int) -> int:
    """Eigenvalues above 0.1 of the kernel matrix of 400 images of so many classes, under the trained network."""
    settings = Settings()
    probe = digit_images(easily_confused(classes), PROBE_SAMPLES, Stream(seed, "probe", classes))
    kernel = make_kernel(settings.gp.kernel, settings.gp.output_scale, settings.gp.length_scale)
    features = unit_sphere(compute_features(trained_network(seed), probe.inputs))
    gram = kernel.gram(features, settings.gp.jitter)
    return int((torch.linalg.eigvalsh(gram.double()) > FLOOR).sum())
