"""What a run says of its Gibbs sampling before round 1."""

from pfedgp_core.config import Settings
from pfedgp_core.metrics.task_report import CLASSIFICATION
from pfedgp_core.presets import preset_settings


def _said(settings: Settings) -> str:
    return CLASSIFICATION.inference(settings)[1]


def test_training_and_prediction_are_told_apart() -> None:
    assert _said(Settings()) == "5 sweeps of 20 chains in training, 20 sweeps of 30 chains in prediction"


def test_nothing_is_sampled_in_the_training_of_a_head() -> None:
    assert _said(Settings.from_run_config(preset_settings("shared-head", {}))) == "20 sweeps of 30 chains in prediction"
