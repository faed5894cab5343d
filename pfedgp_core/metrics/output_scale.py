"""The output scale with which a model predicts, from sums of the clients' log-likelihoods at a few scales.

With L_c(S) the log-likelihood of client c's samples under its classifier of output scale S, at temperature 1, the
scale is the one of `SCALES` and of the settings with the largest sum over clients; see `pooled_place` for what one
client may do. It is a maximum of the evidence in the form that leaves one sample out (Rasmussen and Williams 2006,
section 5.4.2), over a grid and for all clients together.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pfedgp_core.checks import MALFORMED
from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.likelihood import are_possible, read_sums
from pfedgp_core.metrics.pooled_choice import pooled_place, telling

__all__ = ["SCALES", "ScaleEvidence", "ScaleSums", "choose_scale", "scale_grid", "with_scale"]

SCALES = (8.0, 32.0, 128.0, 512.0)
_SWEEPS = 2.5  # times the root of the scale: chains need more of them the larger it is (docs/calibration.md)
_STEPS = 1  # of the grid, by which one client may move the choice


@dataclass(frozen=True)
class ScaleSums:
    """Of one client's samples of one kind.

    Attributes
    ----------
    n : int
        Samples.
    values : tuple of float
        Sum of log p(y) at every scale of `scale_grid`, in its order; none of no sample.
    """

    n: int = 0
    values: tuple[float, ...] = ()

    def __add__(self, other: "ScaleSums") -> "ScaleSums":
        if not (self.n and other.n):
            return self if self.n else other
        return ScaleSums(self.n + other.n, tuple(a + b for a, b in zip(self.values, other.values, strict=True)))

    def to_dict(self) -> dict[str, int | list[float]]:
        """Return plain numbers and lists."""
        return {"n": self.n, "values": list(self.values)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ScaleSums":
        """Read what ``to_dict`` wrote.

        Raises
        ------
        DataError
            A field is missing or malformed, or the values are none that so many samples can have.
        """
        try:
            n, values = read_sums(fields)
        except MALFORMED as error:
            raise DataError(f"These are not sums for the output scale ({type(error).__name__}).") from None
        if bool(n) != bool(values) or not are_possible(n, values):
            raise DataError(f"Sums for the output scale, of {n} samples, contradict themselves.")
        return cls(n, values)


@dataclass(frozen=True)
class ScaleEvidence:
    """What a client sends for the choice of the output scale.

    Attributes
    ----------
    validation : ScaleSums
        Of its validation data.
    left_out : ScaleSums
        Of its training data, each sample predicted from all others; where the client was asked for them.
    """

    validation: ScaleSums = field(default_factory=ScaleSums)
    left_out: ScaleSums = field(default_factory=ScaleSums)

    def to_dict(self) -> dict[str, Any]:
        """Return numbers and flat lists of numbers."""
        return {
            f"{name}.{key}": value
            for name in ("validation", "left_out")
            for key, value in getattr(self, name).to_dict().items()
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ScaleEvidence":
        """Read what ``to_dict`` wrote; raises as `ScaleSums.from_dict`."""
        parts = (
            ScaleSums.from_dict({key: fields.get(f"{name}.{key}") for key in ("n", "values")})
            for name in ("validation", "left_out")
        )
        return cls(*parts)

    def fits(self, n_validation: int, n_train: int) -> bool:
        """Whether these can be of a client with at most so many samples."""
        return self.validation.n <= n_validation and self.left_out.n <= n_train


def scale_grid(settings: Settings) -> tuple[float, ...]:
    """The scales to choose from, ascending; that of the settings is one of them."""
    return tuple(sorted({*SCALES, settings.gp.output_scale}))


def with_scale(settings: Settings, scale: float) -> Settings:
    """The settings at another output scale, with the sweeps that it needs."""
    gp = settings.gp
    if scale == gp.output_scale:
        return settings
    sweeps = max(gp.predict_sweeps or gp.sweeps, math.ceil(_SWEEPS * math.sqrt(scale)))
    return settings.replace(gp=replace(gp, output_scale=scale, predict_sweeps=sweeps))


def choose_scale(clients: Sequence[ScaleSums], settings: Settings) -> float | None:
    """Return the scale of `scale_grid` by the rule above; None where no client's sums say anything.

    Clients whose likelihood is the same at every scale, as at a site with a single class, are left out.
    """
    clients = [sums for sums in clients if telling(sums.n, sums.values)]
    if not clients:
        return None
    grid = scale_grid(settings)
    likelihoods, counts = np.array([sums.values for sums in clients]), [sums.n for sums in clients]
    return grid[pooled_place(likelihoods, counts, np.zeros(len(grid)), grid.index(settings.gp.output_scale), _STEPS)]
