"""The federation of a checkpoint: its data and its clients, read and checked."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.checks import MALFORMED
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import DamagedStateError, DataError
from pfedgp_core.words import cut
from server.clients.kept_clients import KeptClients
from server.clients.record import Client

__all__ = ["read_roster_state"]


def read_roster_state(state: Mapping[str, Any]) -> tuple[DataSpec, list[Client], list[str]]:
    """Data and clients of a federation, and names of those that were online, from what `Roster.to_state` returned.

    Raises
    ------
    DamagedStateError
        It is something else.
    """
    try:
        clients, online = KeptClients.from_state(state)
        return DataSpec.from_json(state["spec"]), clients, online
    except (DataError, *MALFORMED) as error:
        raise DamagedStateError(
            f"The clients in the checkpoint cannot be read ({cut(error, 100)}): restore the run from a copy."
        ) from None
