"""Tests the model of a run once more with other settings of prediction, as a run of its own folder.

As a program, ``python -m pfedgp.experiments.retest RUN SETTINGS OUT``: OUT gets what `measure_afterwards` leaves.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from pfedgp.experiments.afterwards import measure_afterwards
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.errors import ArtefactError
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.make import make_method
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from server.run.model_file import load_model
from server.run.settings import read_kept_settings

__all__ = ["retested", "with_fewer_inducing"]


def with_fewer_inducing(
    vector: np.ndarray, trained: Settings, tested: Settings, input_shape: tuple[int, ...], class_count: int
) -> np.ndarray:
    """A model that keeps the first inducing inputs of each class.

    Parameters
    ----------
    vector : float32 [P]
    trained, tested : Settings
        Those that it was trained with, and those that say how many are kept.
    input_shape : tuple
    class_count : int

    Raises
    ------
    ArtefactError
        It has fewer than are asked for.
    """
    few, many = tested.inducing_per_class, trained.inducing_per_class
    if few > many:
        raise ArtefactError(f"inducing-per-class = {few} at the test is more than the {many} of the trained model.")
    if few == many or not VARIANTS[trained.variant].needs_inducing:
        return vector
    state = SharedState.initial(trained, input_shape, class_count)
    state.load_vector(vector)
    assert state.inducing is not None
    state.inducing = nn.Parameter(state.inducing.detach()[:, :few].clone())
    return state.to_vector()


def retested(run: Path, tested: Settings) -> dict[str, Any]:
    """Test the best model of a completed run on all of its clients; return its numbers as a summary has them.

    Parameters
    ----------
    run : Path
        Whose clients keep nothing of their own.
    tested : Settings
        Those of the run, but for prediction.

    Raises
    ------
    ArtefactError
        There is no model.
    """
    vector, meta = load_model(run / "best")
    trained = Settings.from_run_config(read_kept_settings(run / "config.toml"))
    clients = [simulated_client(tested, 0)]
    shape, classes = tuple(clients[0].train.inputs.shape[1:]), len(clients[0].class_names)
    vector = with_fewer_inducing(vector, trained, tested, shape, classes)
    method, report = make_method(tested, shape, classes), task_report(tested.task)
    pooled: Any = report.sums()
    own: Any = report.sums()
    validation: Any = report.sums()
    for i in range(tested.participants):
        data = simulated_client(tested, i)
        received = method.download(vector, data.name)

        def measured(split: str, data: ClientData = data, received: np.ndarray = received) -> EvaluationResult:
            stream = Stream(tested.seed, "evaluate", split, meta["round"], data.name)
            return method.evaluate(received, None, data, split, stream)

        result = measured("test")
        pooled += result.sums
        own += result.own or result.sums
        validation += measured("validation").sums
    return {
        **report.summarise(pooled),
        **report.own(own),
        "test_samples": pooled.n,
        **{f"validation_{key}": value for key, value in report.summarise(validation).items() if key != "n"},
    }


def main(run: str, settings_file: str, out: str) -> int:
    """Test it and write the folder."""
    return measure_afterwards(Path(run), Path(settings_file), Path(out), lambda settings: retested(Path(run), settings))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
