"""Noise models, which are a corruption at a severity, and which simulated client sees its images through which one."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pfedgp_core.checks import integer, text
from pfedgp_core.data.corruptions.severities import CORRUPTIONS, SEVERITIES, TABLES
from pfedgp_core.numerics.streams import Stream

__all__ = ["HARSH", "NoiseModel", "NoisePlan", "assigned", "noise_models"]

HARSH = (3, 4, 5)  # severities of the paper's experiment: 19 corruptions make 57 noise models


class NoiseModel(NamedTuple):
    """A corruption and its severity; its text is ``snow-4``."""

    corruption: str
    severity: int

    def __str__(self) -> str:
        return f"{self.corruption}-{self.severity}"

    @classmethod
    def of(cls, written: str) -> "NoiseModel":
        """Read what ``str`` wrote; ValueError where it is no noise model."""
        found = re.fullmatch(r"([a-z_]+)-(\d)", written)
        model = cls(found[1], int(found[2])) if found else cls("", 0)
        if model.corruption not in CORRUPTIONS or model.severity not in SEVERITIES:
            raise ValueError(f"{written[:60]!r} is no noise model")
        return model


class NoisePlan(NamedTuple):
    """The noise of a whole federation.

    Attributes
    ----------
    parameters : str
        Name of a table in `severities.TABLES`.
    seed : int
        Of all random numbers in the noise.
    models : tuple of NoiseModel
        One a client.
    """

    parameters: str
    seed: int
    models: tuple[NoiseModel, ...]

    def content(self) -> dict[str, Any]:
        """What is written of it, as values of JSON."""
        return {"parameters": self.parameters, "seed": self.seed, "models": list(map(str, self.models))}

    @classmethod
    def of(cls, content: Mapping[str, Any], clients: int) -> "NoisePlan":
        """Read what `content` gave; ValueError where it is no plan for so many clients."""
        models = tuple(NoiseModel.of(text(written)) for written in content["models"])
        plan = cls(text(content["parameters"]), integer(content["seed"]), models)
        if plan.parameters not in TABLES or len(models) != clients:
            raise ValueError("its noise does not fit")
        return plan


def noise_models(severities: tuple[int, ...] = HARSH) -> tuple[NoiseModel, ...]:
    """Every corruption at each of these severities."""
    return tuple(NoiseModel(corruption, severity) for corruption in CORRUPTIONS for severity in severities)


def assigned(clients: int, seed: int, parameters: str) -> NoisePlan:
    """Give each client one of the 57 noise models: all of them once, in random order, and the rest drawn at random.

    With fewer than 57 clients no two have the same one. The authors' script draws all of them with replacement, so that
    of 57 models 100 clients see about 47; here they see all, and runs of other seeds differ less.
    """
    models, draw = noise_models(), Stream(seed, "noise", "models").numpy
    order = draw.permutation(len(models))
    repeats = draw.integers(len(models), size=max(0, clients - len(models)))
    return NoisePlan(parameters, seed, tuple(models[int(i)] for i in [*order[:clients], *repeats]))
