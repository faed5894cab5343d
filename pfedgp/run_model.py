"""The trained model of a run, as the commands of a site take it."""

from collections.abc import Sequence
from pathlib import Path

from pfedgp_core.errors import ArtefactError, DamagedStateError
from pfedgp_core.methods.make import require_onboards
from pfedgp_core.site.trained_model import TrainedModel
from server.run.model_file import load_model

__all__ = ["read_model"]


def read_model(path: Path, allowed: Sequence[str] = ()) -> tuple[TrainedModel, bool]:
    """Load the model in the folder ``best`` or ``final`` of a run.

    Parameters
    ----------
    path : Path
    allowed : sequence of str
        Import paths that the operator lets the model name as its network.

    Returns
    -------
    TrainedModel, bool
        The model, and whether its run has chosen a temperature for it.

    Raises
    ------
    ArtefactError
        There is no model, it is damaged, or does not say what it is for: given to a command, it is no state.
    ConfigError
        It is of a regression, or of a method that gives a newcomer no classifier.
    """
    try:
        vector, meta = load_model(path.expanduser())
    except DamagedStateError as error:
        raise ArtefactError(str(error)) from error
    model = TrainedModel.from_artefact(vector, meta, tuple(allowed))
    require_onboards(model.settings)
    return model, "temperature" in meta
