"""predict --prior at a site whose nodes answer for equal shares: these, and not its counts, are what is corrected."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pfedgp.commands.predict import _weights
from pfedgp_core.config import Settings

NAMES = ("ill", "well")


def site(weights: str) -> Any:
    samples = SimpleNamespace(counts=lambda names: dict(zip(names, (2, 98), strict=True)))
    model = SimpleNamespace(class_names=NAMES, settings=Settings(class_weights=weights))
    return SimpleNamespace(class_names=NAMES, samples=samples, model=model)


@pytest.mark.parametrize(("weights", "expected"), [("none", [1.0, 2 / 98]), ("balanced", [1.0, 1.0])])
def test_balanced_is_asked_for_once(weights: str, expected: list[float]) -> None:
    np.testing.assert_allclose(_weights(site(weights), "balanced"), expected)
