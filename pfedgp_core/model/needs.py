"""The memory that a run's model and its clients' Gaussian processes need at least; see `pfedgp_core.memory`."""

from typing import NamedTuple

from pfedgp_core.config import Settings
from pfedgp_core.gp.iterative import ITERATIVE_FROM
from pfedgp_core.heads.make import make_head
from pfedgp_core.memory import FLOAT, Need
from pfedgp_core.model.features import BATCH
from pfedgp_core.model.network_size import NetworkSize, network_size
from pfedgp_core.registry import VARIANTS, is_gaussian, is_import_path
from pfedgp_core.words import counted, shape_text

__all__ = ["Workload", "client_needs", "model_needs"]


DOUBLE = 8  # bytes of a probability


class Workload(NamedTuple):
    """What one client computes on.

    Attributes
    ----------
    samples : int
        Of training.
    classes : int
        That its tree tells apart; without meaning in regression.
    evaluated : int
        Samples of its larger split of validation and test data.
    accelerator : bool
        Whether it computes on another device than a CPU, where every chain is factorised.
    """

    samples: int
    classes: int
    evaluated: int = 0
    accelerator: bool = False


def model_needs(settings: Settings, input_shape: tuple[int, ...], class_count: int, copies: int = 1) -> list[Need]:
    """The shared model, so many times over, and its inducing inputs; nothing of a method that is not in the registry.

    Parameters
    ----------
    settings : Settings
    input_shape : tuple of int
        Of one input.
    class_count : int
        Classes of the federation.
    copies : int
        How many vectors of its length are in memory at the same time.
    """
    size = network_size(settings.network, tuple(input_shape), settings.feature_dim)
    if size is None or is_import_path(settings.method):
        return []
    gaussian = is_gaussian(settings.method)
    with_head = not gaussian or settings.gp.prior_mean == "head"
    values = size.values + ((size.width + 1) * class_count if with_head else 0)
    needs = [
        Need(
            float(copies * values * FLOAT),
            f"the network {settings.network!r} of {values:,} values for inputs of shape {shape_text(input_shape)}",
            "set a smaller input-shape or feature-dim, or choose another network",
        )
    ]
    if VARIANTS[settings.variant].needs_inducing and gaussian:
        sets = make_head(settings).inducing_sets(class_count)
        needs.append(
            Need(
                float(copies * sets * settings.inducing_per_class * size.width * FLOAT),
                f"{settings.inducing_per_class:,} inducing inputs for each of {sets:,} classes",
                "lower inducing-per-class",
            )
        )
    return needs


def client_needs(settings: Settings, input_shape: tuple[int, ...], class_count: int, work: Workload) -> list[Need]:
    """The model with a gradient and what arrived, a batch of activations, and the largest node of the client's tree."""
    if is_import_path(settings.method):
        return []
    needs = model_needs(settings, input_shape, class_count, copies=3)
    size = network_size(settings.network, tuple(input_shape), settings.feature_dim)
    if size is not None:
        needs.append(_batch_need(settings, size, work.samples))
    learns = work.classes > 1 or settings.task == "regression"
    if not is_gaussian(settings.method):
        needs.append(
            Need(
                float(work.evaluated * class_count * DOUBLE),
                f"answers on {work.evaluated:,} samples over {class_count:,} classes",
                "name fewer classes in class-names",
            )
        )
    elif work.samples and learns:
        needs += _node_needs(settings, work)
    return needs


def _batch_need(settings: Settings, size: NetworkSize, samples: int) -> Need:
    gaussian = is_gaussian(settings.method)
    rows = min(BATCH if gaussian else settings.batch_size, samples)
    remedy = "set a smaller input-shape, or choose another network"
    return Need(
        float(rows * size.activations * FLOAT),
        f"{counted(rows, 'sample')} on their way through the network",
        remedy if gaussian else f"lower batch-size, {remedy}",
    )


def _node_needs(settings: Settings, work: Workload) -> list[Need]:
    """At the root of the tree, in prediction: covariances of its points, and the chains on them."""
    gp, variant = settings.gp, VARIANTS[settings.variant]
    sets = make_head(settings).inducing_sets(work.classes)
    inducing = settings.inducing_per_class * sets if variant.needs_inducing else 0
    points = work.samples
    if variant.labelled_inducing:
        points = inducing + (work.samples if settings.personal_data else 0)
    # In training a node holds a part of the points alone, and all that its gradient needs besides.
    chains = max(gp.predict_chains, gp.train_chains)
    setting = "gp.train-chains" if gp.train_chains > gp.predict_chains else "gp.predict-chains"
    needs = [_chains_need(chains, points, setting)]
    if inducing and not variant.labelled_inducing:
        needs.append(
            Need(
                float(inducing * (inducing + points) * FLOAT),
                f"{inducing:,} inducing inputs at the root of a client's tree",
                "lower inducing-per-class",
            )
        )
        if 2 * points >= inducing:  # seen through the inducing inputs alone
            return needs
    needs.append(
        Need(
            float(2 * points * points * FLOAT),
            f"the covariances of {points:,} points at the root of a client's tree",
            "lower inducing-per-class" if inducing else "set variant = ip-compute",
        )
    )
    dense = gp.solver == "dense" or (gp.solver == "auto" and (work.accelerator or points < ITERATIVE_FROM))
    if dense and settings.task == "classification":
        needs.append(
            Need(
                float(_factorised(settings, points) * FLOAT),
                f"{chains:,} chains of {points:,} points, each factorised",
                f"lower {setting}, or set gp.solver = iterative",
            )
        )
    return needs


def _factorised(settings: Settings, points: int) -> int:
    """Values of the factors of all chains at the root, in prediction or in training, whichever has more."""
    gp, variant = settings.gp, VARIANTS[settings.variant]
    kept = (
        points if settings.objective != "predictive" or variant.labelled_inducing else points - int(gp.holdout * points)
    )
    return max(gp.predict_chains * points**2, gp.train_chains * kept**2)


def _chains_need(chains: int, points: int, setting: str) -> Need:
    return Need(float(2 * chains * points * FLOAT), f"{chains:,} chains of {points:,} points", f"lower {setting}")
