"""One image, corrupted: by name and severity, from a generator of its own.

Own code with the parameters of ImageNet-C or CIFAR-10-C (`severities`). It differs from theirs where they draw on
OpenCV, on photographs of frost, or on global generators: `docs/partitions.md` lists it.
"""

from collections.abc import Callable

import numpy as np

from pfedgp_core.data.corruptions import blurs, colour, digital, random_noise, weather
from pfedgp_core.data.corruptions.severities import CORRUPTIONS, SEVERITIES, TABLES, parameters
from pfedgp_core.errors import DataError
from pfedgp_core.setting import choices_text

__all__ = ["RANDOM", "corrupted", "corrupted_values", "unclipped"]

Corruption = Callable[..., np.ndarray]

_FUNCTIONS: dict[str, Corruption] = {
    "gaussian_noise": random_noise.gaussian_noise,
    "shot_noise": random_noise.shot_noise,
    "impulse_noise": random_noise.impulse_noise,
    "defocus_blur": blurs.defocus_blur,
    "glass_blur": blurs.glass_blur,
    "motion_blur": blurs.motion_blur,
    "zoom_blur": blurs.zoom_blur,
    "snow": weather.snow,
    "frost": weather.frost,
    "fog": weather.fog,
    "brightness": colour.brightness,
    "contrast": colour.contrast,
    "elastic_transform": digital.elastic_transform,
    "pixelate": digital.pixelate,
    "jpeg_compression": digital.jpeg_compression,
    "speckle_noise": random_noise.speckle_noise,
    "gaussian_blur": blurs.gaussian_blur,
    "spatter": weather.spatter,
    "saturate": colour.saturate,
}
_COLOURED = ("snow", "frost", "spatter", "saturate")  # make colours that a grey image has to be given first
RANDOM = frozenset(CORRUPTIONS) - {
    "defocus_blur",
    "zoom_blur",
    "brightness",
    "contrast",
    "pixelate",
    "jpeg_compression",
    "gaussian_blur",
    "saturate",
}


def corrupted(
    image: np.ndarray, corruption: str, severity: int, rng: np.random.Generator, table: str = "imagenet-c"
) -> np.ndarray:
    """Return the corrupted image, uint8 [H, W, C].

    Parameters
    ----------
    image : uint8 array [H, W, C]
        Of any size, with one channel or three.
    corruption : str
        One of `severities.CORRUPTIONS`.
    severity : int
        1 to 5.
    rng : Generator
        Of this image; equal generators give equal images.
    table : {"imagenet-c", "cifar-10-c"}
        Whose parameters.

    Raises
    ------
    DataError
        No such image, corruption, severity or table.
    """
    rounded: np.ndarray = np.rint(corrupted_values(image, corruption, severity, rng, table)).astype(np.uint8)
    return rounded


def corrupted_values(
    image: np.ndarray, corruption: str, severity: int, rng: np.random.Generator, table: str = "imagenet-c"
) -> np.ndarray:
    """The same before it is rounded, float64 [H, W, C] in 0..255. Takes and raises what `corrupted` does."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (1, 3) or not image.size:
        raise DataError(
            f"An image is {image.dtype} {list(image.shape)}; give uint8 [H, W, C] with one channel or three."
        )
    x = image / 255.0
    if image.shape[2] == 1 and corruption in _COLOURED:
        made = np.clip(unclipped(np.repeat(x, 3, axis=2), corruption, severity, rng, table), 0.0, 1.0)
        grey: np.ndarray = (made @ colour.LUMINANCE)[:, :, None] * 255.0
        return grey
    values: np.ndarray = np.clip(unclipped(x, corruption, severity, rng, table), 0.0, 1.0) * 255.0
    return values


def unclipped(
    x: np.ndarray, corruption: str, severity: int, rng: np.random.Generator, table: str = "imagenet-c"
) -> np.ndarray:
    """The corruption of float64 [H, W, C] on the scale 0..1, which the result may leave. Raises as `corrupted`."""
    if corruption not in _FUNCTIONS:
        raise DataError(f"corruption = {corruption!r} is not known; {choices_text(corruption, CORRUPTIONS)}")
    if severity not in SEVERITIES:
        raise DataError(f"severity = {severity!r} is not known; give 1 to 5.")
    if table not in TABLES:
        raise DataError(f"parameters {table!r} are not known; {choices_text(table, TABLES)}")
    return _FUNCTIONS[corruption](x, rng, *parameters(corruption, severity, table))
