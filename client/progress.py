"""The last step of this site, in a file under its state folder, for people and ``pfedgp doctor``.

A killed site loses nothing: its personal classifier is a function of the shared model, which comes with every request,
and of the training part of its data, which the kept split decides. So this file is no state to resume from.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from client.state_file import write_state_file
from pfedgp_core.wire.replies import TrainReply

__all__ = ["PROGRESS_FILE", "note_progress"]

PROGRESS_FILE = "progress.json"


def note_progress(
    node_config: Mapping[str, Any],
    run_id: int,
    round: int,
    received: np.ndarray,
    sent: np.ndarray | None,
    reply: TrainReply,
) -> None:
    """Replace the file after a training request; without a ``state`` folder there is none.

    A failure to write it is a warning in the site's log: the round does not depend on it.

    Parameters
    ----------
    node_config : mapping
        Of the Flower node.
    run_id, round : int
        Of the request.
    received, sent : numpy.ndarray, float32 [P]
        The shared vectors; `sent` is None where there was no update.
    reply : TrainReply
    """
    about = {
        "round": round,
        "received_sha256": _sha256(received),
        "sent_sha256": None if sent is None else _sha256(sent),
        "status": reply.status,
        "n_train": reply.n_train,
    }
    write_state_file(node_config, PROGRESS_FILE, run_id, about, f"the progress of round {round}")


def _sha256(vector: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(vector, dtype=np.float32).tobytes()).hexdigest()
