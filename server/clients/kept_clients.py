"""The clients of a run as its checkpoints keep them: how they presented themselves is written out once.

That does not change from round to round, and with thousands of clients it would cost more than the round. What is the
same for all, in a simulation most of it, stands there once.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pfedgp_core.checks import text
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.wire.hello import Hello
from server.clients.record import Client

__all__ = ["KeptClients"]

LARGEST = 4 * 1024**3  # characters of all greetings
_FIELDS = tuple(field.name for field in fields(Hello))


class KeptClients:
    """Writes the clients' state for one checkpoint after the other."""

    def __init__(self) -> None:
        self._written: list[tuple[Hello, str]] = []  # greeting and key of each client in the text
        self._text = _presented([])

    def to_state(self, clients: Sequence[Client], away: Collection[str]) -> dict[str, Any]:
        """Return all that a checkpoint keeps of clients, as plain values of JSON.

        Parameters
        ----------
        clients : sequence of Client
        away : collection of str
            Names of those that do not take part at the moment.
        """
        if len(clients) != len(self._written) or not all(
            client.hello is hello and client.key == key
            for client, (hello, key) in zip(clients, self._written, strict=True)
        ):
            self._written = [(client.hello, client.key) for client in clients]
            self._text = _presented(self._written)
        return {
            "presented": self._text,
            "trained_in": {client.name: list(client.trained_in) for client in clients if client.trained_in},
            "away": sorted(away),
        }

    @staticmethod
    def from_state(state: Mapping[str, Any]) -> tuple[list[Client], list[str]]:
        """Return the clients that `to_state` was given, which are nowhere yet, and the names of those that were there.

        States of former versions have each client's greeting by itself.

        Raises
        ------
        DataError, TypeError, ValueError, LookupError, AttributeError
            It is something else than a state.
        """
        if "clients" in state:
            clients = [Client.from_state(c) for c in state["clients"]]
            return clients, [client.name for client, c in zip(clients, state["clients"], strict=True) if c["online"]]
        presented = parse_object(text(state["presented"]), LARGEST)
        same, trained_in = presented["same"], state["trained_in"]
        clients = []
        for own in presented["clients"]:
            rounds = trained_in.get(text((same | own)["name"]), [])
            clients.append(Client.from_state({"hello": same | own, "trained_in": rounds, "key": own.get("key", "")}))
        away = {text(name) for name in state["away"]}
        if not trained_in.keys() <= {client.name for client in clients}:
            raise ValueError("rounds of a client that is not there")
        return clients, [client.name for client in clients if client.name not in away]


def _presented(written: Sequence[tuple[Hello, str]]) -> str:
    """The greetings as JSON: the fields that all share, and for each client the others and its key."""
    if not written:
        return '{"same": {}, "clients": []}'
    first = written[0][0]
    same = [name for name in _FIELDS if all(getattr(hello, name) == getattr(first, name) for hello, _ in written)]
    own = [name for name in _FIELDS if name not in same]
    clients = [{name: getattr(hello, name) for name in own} | ({"key": key} if key else {}) for hello, key in written]
    return json.dumps({"same": {name: getattr(first, name) for name in same}, "clients": clients})
