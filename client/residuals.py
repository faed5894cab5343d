"""What an encoded update left out: kept at the client by round, and added to its next update (error feedback).

Without it an error that points the same way in each round would add up. With it the sum of all that was sent is off by
one rounding, however many rounds there are. What was left out of a round's update is kept under that round, as a
client's own state is (`client.state`), and counts once the server names the round as accepted: a killed server or site
resumes to the same bits, and an update that was refused leaves what was left out before it.
"""

from collections import Counter

import numpy as np
from flwr.app import Context

from client.messages import Request
from client.state import client_states
from pfedgp_core.methods.base import Method
from pfedgp_core.wire.encodings import FLOAT32, INT8, Encoded, decode_update, encode_update

__all__ = ["outgoing"]

RESIDUALS = " residuals"  # after the name of the run, which makes another folder of it


def outgoing(
    request: Request,
    method: Method,
    context: Context,
    client: str,
    updated: np.ndarray | None,
    counters: Counter[str],
) -> np.ndarray | Encoded | None:
    """What the client sends for its updated vector, as the setting ``update-encoding`` says; None for none.

    A method whose uploads minus downloads mean nothing sends its vector as it is.

    Parameters
    ----------
    request : Request
    method : Method
    context : Context
        Of Flower; where the state of a node without a folder is.
    client : str
    updated : float32 array [P] or None
        With all noise of ``dp-noise`` in it: whatever is made of that tells no more than it does.
    counters : Counter
        Takes ``residual_lost``.

    Raises
    ------
    ArtefactError
        What was left out cannot be kept, so the update must not be sent.
    """
    encoding = request.settings.update_encoding
    if encoding == FLOAT32 or not method.private:
        return updated
    received = request.shared_vector()
    states = client_states(context, request.run + RESIDUALS, client) if encoding == INT8 else None
    rest = states.current(request.accepted) if states else None
    if states is not None:
        counters["residual_lost"] += states.lost
        states.settle(request.accepted, 0, request.round)
    encoded = None
    if updated is not None:
        update = updated - received
        if rest is not None and rest.shape == update.shape:
            update += rest
        encoded = encode_update(update, encoding)
        rest = update - decode_update(encoded.data, encoding, update.size)
    if states is not None:
        states.put(request.round, rest)
    return encoded
