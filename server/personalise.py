"""The end of a federation of sites with own data: each site makes its classifier from the best model."""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.site.trained_model import TrainedModel
from server.clients.roster import Roster
from server.publish import Publication
from server.run.artefacts import RunFolder

__all__ = ["personalise"]

logger = logging.getLogger("pfedgp.server")


def personalise(
    grid: Grid, settings: Settings, roster: Roster, vector: np.ndarray, meta: Mapping[str, Any], folder: RunFolder
) -> None:
    """Send the model of a run that is at its end to its connected clients, which make their classifiers from it.

    Whatever goes wrong here is a warning: the run has its results.

    Parameters
    ----------
    grid : Grid
    settings : Settings
        Of the run.
    roster : Roster
        Its clients.
    vector : float32 [P]
    meta : mapping
        As it is kept with the model.
    folder : RunFolder
        Of the run; takes ``onboarded.json``.
    """
    names = {client.node_id: client.name for client in roster.online()}
    if not names:
        return
    try:
        model = TrainedModel.from_artefact(vector, dict(meta))
        about = {"path": str(folder.path / "best"), "round": meta["round"]}
        # Clients that connect now are not asked, and none is waited for longer than in a round.
        settings = settings.replace(wait_timeout=settings.round_timeout)
        Publication(grid, settings, model, folder.path, about, folder.run_info, names).run()
    except Exception as error:  # noqa: BLE001 (the run is complete without it)
        logger.warning("the clients could not make their classifiers: %s", error)
