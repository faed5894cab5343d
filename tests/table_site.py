"""A site on a table of three numbers with an untrained model, in the place of one that `pfedgp onboard` made."""

import numpy as np

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.samples import Split
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel

__all__ = ["COLUMNS", "rows", "table_site"]

COLUMNS = ("age", "weight", "=risk")
CLASSES = ("ill", "well", "unsure")


def rows(n: int, seed: int = 0) -> np.ndarray:
    """Samples, float32 [n, 3]."""
    return np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)


def table_site(name: str = "ward-3", temperature: float = 0.5) -> SavedSite:
    """The site, of 24 samples of two classes."""
    settings = Settings(dataset="diabetes", network="mlp", feature_dim=8, gp=GPSettings(sweeps=2, predict_chains=4))
    vector = SharedState.initial(settings, (3,), len(CLASSES)).to_vector()
    mean, std = np.zeros(3, np.float32), np.ones(3, np.float32)
    model = TrainedModel(vector, settings, CLASSES, (3,), mean, std, temperature=temperature)
    inputs = rows(24, seed=1)
    split = Split(inputs, (inputs.sum(axis=1) > 0).astype(np.int64))
    return SavedSite.fit(name, model, SiteSamples.compute(split, model), COLUMNS)
