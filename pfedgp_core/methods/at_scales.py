"""A client's classifier at every output scale of the grid, as far as the choice of the scale needs to know them."""

from collections.abc import Iterator

import numpy as np

from pfedgp_core.data.samples import ClientData
from pfedgp_core.heads.classification import class_columns
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.predictor import LeavesOneOut
from pfedgp_core.metrics.likelihood import tempered_log_likelihoods
from pfedgp_core.metrics.output_scale import ScaleEvidence, ScaleSums, scale_grid, with_scale
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import TASKS, VARIANTS, is_gaussian

__all__ = ["chooses_scale", "scale_evidence"]


def chooses_scale(method: Method) -> bool:
    """Whether a run of this method ends with the choice: it is wanted, and the classifier is a tree of plain GPs.

    A learned scale is one already, a shared head's is that of what the head leaves, and inducing inputs were learned at
    the scale of the training.
    """
    settings, gp = method.settings, method.settings.gp
    plain = gp.prior_mean == "zero" and not gp.learn_scales and not VARIANTS[settings.variant].needs_inducing
    trees = is_gaussian(settings.method) and method.onboards and bool(TASKS[settings.task].classes)
    return gp.choose_scale and plain and trees


def scale_evidence(
    method: Method, received: np.ndarray, kept: np.ndarray | None, data: ClientData, stream: Stream, left_out: bool
) -> ScaleEvidence:
    """Sums of the validation data, and with `left_out` of the training data, each sample predicted from all others.

    All scales have the same draws from the stream, so that little but the scale decides between them. A client without
    training data sends sums of no sample, and one with a single class those of certainty at every scale.

    Parameters
    ----------
    method : Method
        Of a tree of Gaussian processes.
    received, kept, stream
        As for ``Method.personal``.
    data : ClientData
    left_out : bool
    """
    if not len(data.train.labels):
        return ScaleEvidence()
    found: dict[str, list[float]] = {"validation": [], "left_out": []}
    for scale in scale_grid(method.settings):
        settings = with_scale(method.settings, scale)
        at_scale = type(method)(settings, method.input_shape, method.class_count, method.device)
        for name, value in _likelihoods(at_scale, received, kept, data, stream, left_out):
            found[name].append(value)
    validation, without = len(data.validation.labels), len(data.train.labels)
    return ScaleEvidence(
        ScaleSums(validation if found["validation"] else 0, tuple(found["validation"])),
        ScaleSums(without if found["left_out"] else 0, tuple(found["left_out"])),
    )


def _likelihoods(
    method: Method, received: np.ndarray, kept: np.ndarray | None, data: ClientData, stream: Stream, left_out: bool
) -> Iterator[tuple[str, float]]:
    predictor = method.personal(received, kept, data.train, stream.child())

    def summed(logs: np.ndarray, split: str) -> float:
        columns = class_columns(predictor.classes_, getattr(data, split).labels)
        return float(tempered_log_likelihoods(logs, columns, (1.0,))[0])

    if len(data.validation.labels):
        with np.errstate(divide="ignore"):
            yield "validation", summed(np.log(predictor.predict_proba(data.validation.inputs)), "validation")
    if left_out and isinstance(predictor, LeavesOneOut):
        yield "left_out", summed(predictor.leave_one_out_log_proba(), "train")
