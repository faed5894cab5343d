"""Where the channels of an array of images are: in front, at the end, or not to be told from its shape."""

import numpy as np

from pfedgp_core.data.own.samples import Findings, Wanted
from pfedgp_core.words import shape_text

__all__ = ["channels_in_front", "name_volumes"]

FIRST, LAST = "first", "last"
USUAL = (1, 3)  # channels: grey and colour


def channels_in_front(inputs: np.ndarray, wanted: Wanted, findings: Findings) -> np.ndarray | None:
    """The same images with their channels in front.

    Parameters
    ----------
    inputs : numpy.ndarray, uint8 [N, C, H, W] or [N, H, W, C]
    wanted : Wanted
        Its layout decides or, without it, the shape that the model takes, or else one or three channels.
    findings : Findings
        Receives what is wrong.

    Returns
    -------
    numpy.ndarray or None
        uint8 [N, C, H, W]; None where the shape does not tell, which is noted.
    """
    place = wanted.layout.channels or _place(inputs.shape[1:], wanted)
    if place == FIRST:
        return inputs
    if place == LAST:
        return np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
    first, *_, last = inputs.shape[1:]
    findings.problem(
        f"The images have shape {shape_text(inputs.shape[1:])}, which does not tell where their channels are: give "
        f"--channels-last if they have {last} channels, --channels-first if {first}; of volumes, give the "
        "slices as samples."
    )
    return None


def name_volumes(inputs: np.ndarray, findings: Findings) -> bool:
    """Whether the inputs are volumes [N, D, H, W] of numbers, or [N, C, D, H, W]; noted with what to do."""
    if inputs.ndim != 5 and not (inputs.ndim == 4 and inputs.dtype != np.uint8):
        return False
    findings.problem(
        f"The inputs are {inputs.dtype} {list(inputs.shape)}, which are volumes or images of other values than 0 to "
        "255: give uint8 images [N, C, H, W], of volumes the slices as samples, or as channels with --channels-first."
    )
    return True


def _place(shape: tuple[int, ...], wanted: Wanted) -> str:
    first, height, last = shape
    taken = wanted.input_shape
    if taken is not None and len(taken) == 3 and not wanted.resize:
        fits = [shape == taken, (last, first, height) == taken]
        if sum(fits) == 1:
            return FIRST if fits[0] else LAST
        if all(fits) and taken[0] not in USUAL:
            return ""
    if first in USUAL:
        return FIRST
    return LAST if last in USUAL else ""
