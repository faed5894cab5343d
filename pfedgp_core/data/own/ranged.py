"""Images of any numbers as samples have them: the range of their values is found, compared and kept."""

import numpy as np

from pfedgp_core.data.own.samples import Findings, Layout, Wanted
from pfedgp_core.data.value_range import BYTES, UNIT, Extent, extent_of, in_numbers, range_text

__all__ = ["chosen_range", "ranged"]


def ranged(images: np.ndarray, wanted: Wanted, findings: Findings) -> tuple[np.ndarray, str] | None:
    """The images as samples have them, and the range of their values.

    Parameters
    ----------
    images : numpy.ndarray [N, C, H, W]
        Of any numbers.
    wanted : Wanted
        Its layout says which range the user gives, and which the model takes.
    findings : Findings
        Receives what is wrong.

    Returns
    -------
    (uint8 or float32 [N, C, H, W], str) or None
        None where the values are not in the range.
    """
    extent = extent_of(images)
    name = chosen_range(extent, wanted.layout, findings)
    return None if name is None else (in_numbers(images, name), name)


def chosen_range(extent: Extent, layout: Layout, findings: Findings) -> str | None:
    """The range of images as the user, the model or the values say; None and a problem where these contradict."""
    stated, taken = layout.value_range, layout.model_range
    found = f"values from {extent.low:g} to {extent.high:g}"
    if stated and taken and stated != taken:
        findings.problem(
            f"The model takes images with {range_text(taken)}, and --value-range says {stated}: give images of that "
            "range, or leave the option out."
        )
    elif stated and not extent.inside(stated):
        findings.problem(
            f"The images have {found}, which are not all in --value-range {stated}: give the range they have."
        )
    elif taken and not stated and not extent.fits(taken):
        findings.problem(
            f"The images have {found}, as of the range {extent.guess()} ({_kind(extent)}), and the model takes "
            f"{range_text(taken)}: bring them to that range, or give --value-range {taken} if they have it."
        )
    else:
        name = stated or taken or extent.guess()
        if extent.kind != "uint8" and name in (BYTES, UNIT) and not stated and not taken:
            findings.remark(
                f"The images are of {_kind(extent)} with {found}: read as {range_text(name)}; if another range is "
                "meant, give --value-range."
            )
        return name
    return None


def _kind(extent: Extent) -> str:
    kinds = {"uint8": "8 bits", "uint16": "16 bits", "bool": "one bit", "integer": "whole numbers"}
    kinds["rescaled"] = "numbers of a unit"
    return kinds.get(extent.kind, "numbers in floating point")
