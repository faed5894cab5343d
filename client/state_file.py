"""A small JSON file under a site's state folder, for people, ``pfedgp doctor`` and ``pfedgp status``."""

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.whole import write_whole

__all__ = ["write_state_file"]

logger = logging.getLogger("pfedgp.client")

SCHEMA = 1


def write_state_file(
    node_config: Mapping[str, Any], name: str, run_id: int, about: Mapping[str, Any], what: str
) -> None:
    """Replace the file `name`; without a ``state`` folder there is none, and a failure is a warning in the site's log.

    Parameters
    ----------
    node_config : mapping
        Of the Flower node.
    name : str
    run_id : int
    about : mapping
        The fields between the run and the time.
    what : str
        What is not on disk after a failure.
    """
    state = str(node_config.get("state", "")).strip()
    if not state:
        return
    content = {
        "schema_version": SCHEMA,
        "run": str(run_id),  # beyond what JSON readers keep of a number
        **about,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    try:
        write_whole(Path(state).expanduser() / name, json.dumps(content, indent=2) + "\n")
    except ArtefactError as error:
        logger.warning("%s is not on disk: %s", what, error)
