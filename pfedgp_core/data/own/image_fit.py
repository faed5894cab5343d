"""Images in an array brought to the model's shape, and images of other sizes named."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.own.pictures import MODES, fitted_page
from pfedgp_core.data.own.samples import Findings, Wanted
from pfedgp_core.words import counted, few, shape_text

__all__ = ["asked_channels", "check_sizes", "fit_arrays"]


def fit_arrays(images: np.ndarray, wanted: Wanted, findings: Findings, classes: int = 1) -> np.ndarray | None:
    """Bring images of an array to the model's shape, by the rules of `load_image_folder`.

    Parameters
    ----------
    images : uint8 or float32 [N, C, H, W]
    wanted : Wanted
    findings : Findings
    classes : int
        That the images are of, where that is known.

    Returns
    -------
    uint8 or float32 [N, C', H', W'] or None
        None where they cannot be brought there.
    """
    shape = wanted.input_shape
    if shape is None or images.shape[1:] == shape:
        return images
    channels = asked_channels(wanted)
    deep = images.dtype != np.uint8  # colours of such are not mixed to grey
    other = channels is None or images.shape[1] not in MODES or (deep and images.shape[1] not in (1, channels))
    if other or 0 in images.shape[2:]:
        findings.problem(
            f"The images have shape {shape_text(images.shape[1:])}, and the model takes inputs of shape "
            f"{shape_text(shape)}: give data of that shape, or another model."
        )
        return None
    if images.shape[2:] != shape[1:] and not wanted.resize:
        check_sizes(Counter({(images.shape[2], images.shape[3]): len(images)}), shape[1:], wanted, findings)
        return None
    wanted.require_room(len(images), classes)
    if not len(images):
        return np.empty((0, *shape), images.dtype)
    if wanted.resize and images.shape[2:] != shape[1:]:
        findings.remark(resized_note(len(images), len(images), shape[1:]))
    return np.stack([_fitted(image, channels, shape[1:]) for image in images])


def _fitted(image: np.ndarray, channels: int | None, size: Sequence[int]) -> np.ndarray:
    from PIL import Image

    if image.dtype == np.uint8:
        pixels = image[0] if len(image) == 1 else np.ascontiguousarray(image.transpose(1, 2, 0))
        return fitted_page(Image.fromarray(pixels), channels, size)
    planes = [fitted_page(Image.fromarray(plane), 1, size)[0] for plane in image]
    return np.stack(planes * (channels or 1) if len(planes) == 1 else planes)


def check_sizes(
    sizes: Counter[tuple[int, int]], size: Sequence[int] | None, wanted: Wanted, findings: Findings
) -> None:
    """Name images of other sizes than the usual one, or the model's."""
    others = [(count, other) for other, count in sizes.most_common() if other != size]
    if size is None or not others:
        return
    listed = few([f"{count} of {shape_text(other)}" for count, other in others])
    wrong, total = sum(count for count, _ in others), sum(sizes.values())
    ask = "size that the model takes" if wanted.input_shape is not None else "most common size"
    findings.problem(
        f"Not of {shape_text(size)} (height x width), the {ask}: {wrong} of {counted(total, 'image')}, {listed}; "
        "resize them, give --resize to have them resized to the model's size, or set input-shape in a run."
    )


def resized_note(count: int, total: int, size: Sequence[int]) -> str:
    """That images are resized."""
    return f"Resized to {shape_text(size)}: {count} of {counted(total, 'image')}."


def asked_channels(wanted: Wanted) -> int | None:
    """Channels that the model asks for; None where it takes no images, or nothing is known."""
    shape = wanted.input_shape
    return shape[0] if shape is not None and len(shape) == 3 and shape[0] in MODES else None
