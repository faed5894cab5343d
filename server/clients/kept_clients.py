"""The clients of a run as its checkpoints keep them: how they presented themselves is written out once.

That does not change from round to round, and with thousands of clients it would cost more than the round. What is the
same for all, in a simulation most of it, stands there once, and a long text is packed: each checkpoint copies it.
"""

import binascii
import json
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pfedgp_core.checks import text
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import size
from server.clients.record import Client

__all__ = ["KeptClients"]

LARGEST = 256 * 1024**2  # characters of all greetings: a megabyte of zlib could become a thousand times as many
PACKED = 32_768  # characters from which they are packed
_FIELDS = tuple(field.name for field in fields(Hello))


class KeptClients:
    """Writes the clients' state for one checkpoint after the other."""

    def __init__(self) -> None:
        self._hellos: list[Hello] = []  # of the clients in the text
        self._keys: list[str] = []
        self._text = _presented([], [])

    def to_state(self, clients: Sequence[Client], away: Collection[str]) -> dict[str, Any]:
        """Return all that a checkpoint keeps of clients, as plain values of JSON.

        Parameters
        ----------
        clients : sequence of Client
        away : collection of str
            Names of those that do not take part at the moment.
        """
        hellos, keys = [client.hello for client in clients], [client.key for client in clients]
        if hellos != self._hellos or keys != self._keys:
            self._hellos, self._keys, self._text = hellos, keys, _presented(hellos, keys)
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
            _require_each_once(clients)
            return clients, [client.name for client, c in zip(clients, state["clients"], strict=True) if c["online"]]
        presented = parse_object(_unpacked(text(state["presented"])), LARGEST)
        same, trained_in = presented["same"], state["trained_in"]
        clients = []
        for own in presented["clients"]:
            rounds = trained_in.get(text((same | own)["name"]), [])
            clients.append(Client.from_state({"hello": same | own, "trained_in": rounds, "key": own.get("key", "")}))
        _require_each_once(clients)
        away = {text(name) for name in state["away"]}
        if not trained_in.keys() <= {client.name for client in clients}:
            raise ValueError("rounds of a client that is not there")
        return clients, [client.name for client in clients if client.name not in away]


def _require_each_once(clients: Sequence[Client]) -> None:
    twin, times = Counter(client.name for client in clients).most_common(1)[0] if clients else ("", 0)
    if times > 1:
        raise ValueError(f"the client {twin} is there {times} times")


def _presented(hellos: Sequence[Hello], keys: Sequence[str]) -> str:
    """The greetings as JSON, packed where it is long: the fields that all share, and each client's others and key."""
    if not hellos:
        return '{"same": {}, "clients": []}'
    first = hellos[0]
    same = [name for name in _FIELDS if all(getattr(hello, name) == getattr(first, name) for hello in hellos)]
    own = [name for name in _FIELDS if name not in same]
    clients = [
        {name: getattr(hello, name) for name in own} | ({"key": key} if key else {})
        for hello, key in zip(hellos, keys, strict=True)
    ]
    written = json.dumps({"same": {name: getattr(first, name) for name in same}, "clients": clients})
    if len(written) < PACKED:
        return written
    return binascii.b2a_base64(zlib.compress(written.encode()), newline=False).decode()


def _unpacked(presented: str) -> str:
    """The JSON of `_presented`, of at most `LARGEST` bytes."""
    if presented.startswith("{"):
        return presented
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(binascii.a2b_base64(presented, strict_mode=True), LARGEST)
    except zlib.error as error:
        raise ValueError(f"greetings that do not unpack ({error})") from None
    if not unpacker.eof:
        raise ValueError(f"greetings that are cut, or longer than {size(LARGEST)}")
    if unpacker.unused_data:
        raise ValueError("greetings with something behind them")
    return content.decode()
