"""The clients of a run as a checkpoint keeps them: plain values of JSON, and back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pfedgp_core.checks import MALFORMED
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import DamagedStateError, DataError
from pfedgp_core.words import cut
from server.clients.record import Client

__all__ = ["read_roster_state", "roster_state"]


def roster_state(spec: DataSpec, clients: Sequence[Client], missing: Collection[str]) -> dict[str, Any]:
    """All that a checkpoint keeps of clients; `missing` are the names of those that are not online."""
    return {
        "spec": spec.to_json(),
        "clients": [client.to_state() | {"online": client.name not in missing} for client in clients],
    }


def read_roster_state(state: Mapping[str, Any]) -> tuple[DataSpec, list[Client], list[str]]:
    """The federation's data, its clients, and the names of those that were online, from what `roster_state` returned.

    Raises
    ------
    DamagedStateError
        It is something else.
    """
    try:
        clients = [Client.from_state(c) for c in state["clients"]]
        online = [client.name for client, c in zip(clients, state["clients"], strict=True) if c["online"]]
        return DataSpec.from_json(state["spec"]), clients, online
    except (DataError, *MALFORMED) as error:
        raise DamagedStateError(
            f"The clients in the checkpoint cannot be read ({cut(error, 100)}): restore the run from a copy."
        ) from None
