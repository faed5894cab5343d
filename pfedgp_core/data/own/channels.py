"""What the axes of an array of images are: channels in front or at the end, slices of volumes, or not to be told."""

import numpy as np

from pfedgp_core.data.own.samples import Findings, Wanted
from pfedgp_core.words import shape_text

__all__ = ["CHANNELS", "SLICES", "arranged_images", "as_slices"]

FIRST, LAST = "first", "last"
CHANNELS, SLICES = "channels", "slices"  # what pages become
USUAL = (1, 3)  # channels: grey and colour
WHAT_TO_DO = "give --pages slices to have each slice as a sample, or --pages channels to have them as channels"


def as_slices(inputs: np.ndarray, wanted: Wanted) -> tuple[np.ndarray, int]:
    """Volumes as the slices along their first axis where the user wants that, and how many slices each has.

    Parameters
    ----------
    inputs : numpy.ndarray [N, D, H, W], [N, 1, D, H, W] or [N, D, H, W, 1]
        Anything else stays as it is.
    wanted : Wanted

    Returns
    -------
    numpy.ndarray [N * D, H, W], int
        The slices of a volume follow each other.
    """
    volumes = _volumes(inputs)
    if wanted.layout.pages != SLICES or volumes.ndim != 4:
        return inputs, 1
    return volumes.reshape(-1, *volumes.shape[2:]), volumes.shape[1]


def arranged_images(inputs: np.ndarray, wanted: Wanted, findings: Findings) -> np.ndarray | None:
    """Images with their channels in front.

    Parameters
    ----------
    inputs : numpy.ndarray [N, H, W], [N, C, H, W], [N, H, W, C] or [N, 1, D, H, W]
        Of any numbers.
    wanted : Wanted
        Its layout decides or, without it, the shape that the model takes, or else one or three channels.
    findings : Findings
        Receives what is wrong.

    Returns
    -------
    numpy.ndarray or None
        [N, C, H, W]; None where the shape does not tell or they are volumes, which is noted with what to do.
    """
    if inputs.ndim == 3:
        return inputs[:, None]
    volumes = _volumes(inputs)
    if inputs.ndim == 5:
        if volumes.ndim == 4 and wanted.layout.pages == CHANNELS:
            return volumes
        several = "" if volumes.ndim == 4 else " of several channels each, of which pFedGP takes one"
        findings.problem(f"The inputs are volumes of shape {shape_text(inputs.shape[1:])}{several}: {WHAT_TO_DO}.")
        return None
    place = wanted.layout.channels or (FIRST if wanted.layout.pages == CHANNELS else _place(inputs.shape[1:], wanted))
    if place == FIRST:
        return inputs
    if place == LAST:
        return np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
    first, *_, last = inputs.shape[1:]
    findings.problem(
        f"The images have shape {shape_text(inputs.shape[1:])}, which does not tell where their channels are: give "
        f"--channels-last if they have {last} channels, --channels-first if {first}; if they are volumes, {WHAT_TO_DO}."
    )
    return None


def _volumes(inputs: np.ndarray) -> np.ndarray:
    """Volumes [N, D, H, W] without an axis of one channel; anything else as it is."""
    if inputs.ndim == 5 and 1 in (inputs.shape[1], inputs.shape[4]):
        return inputs[:, 0] if inputs.shape[1] == 1 else inputs[..., 0]
    return inputs


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
