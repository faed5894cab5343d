"""Whether a site stands on a model, or on one that predicts alike."""

import numpy as np

from pfedgp_core.site.trained_model import TrainedModel

__all__ = ["same", "same_posterior"]


def same(model: TrainedModel, other: TrainedModel) -> bool:
    """Whether two models predict alike."""
    alike = model.temperature == other.temperature and model.temperature_spread == other.temperature_spread
    return alike and same_posterior(model, other)


def same_posterior(model: TrainedModel, other: TrainedModel) -> bool:
    """Whether two models are alike but for their temperature: the same vector, with the same meaning."""
    return (
        model.sha256 == other.sha256
        and model.settings == other.settings
        and model.class_names == other.class_names
        and model.input_shape == other.input_shape
        and np.array_equal(model.mean, other.mean)
        and np.array_equal(model.std, other.std)
    )
