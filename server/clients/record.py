"""One client of a run: its node, its greeting, and the rounds in which it trained."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pfedgp_core.checks import MALFORMED, count, text
from pfedgp_core.errors import DataError
from pfedgp_core.wire.hello import Hello

__all__ = ["NOWHERE", "Client"]

NOWHERE = 0  # node id of a client that a checkpoint names and that was not greeted yet


@dataclass
class Client:
    """A greeted client. Flower's node id may change, so everything that lasts goes by the name.

    Parameters
    ----------
    node_id : int
        Where it is now, or `NOWHERE`.
    hello : Hello
        How it presented itself last.
    trained_in : list of int
        Rounds in which its reply was accepted.
    key : str
        Name under which its key is registered; empty in a simulation, and where nodes need no key.
    """

    node_id: int
    hello: Hello
    trained_in: list[int] = field(default_factory=list)
    key: str = ""

    @property
    def name(self) -> str:
        """The client's own name."""
        return self.hello.name

    def accepted(self, by: int) -> int:
        """The last round up to `by` in which an update of this client was accepted; 0 where there is none."""
        return max((t for t in self.trained_in if t <= by), default=0)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Client":
        """The client of a checkpoint, which is nowhere yet.

        Raises
        ------
        DataError
            It is something else.
        """
        try:
            hello = Hello.from_wire({"hello": json.dumps(state["hello"])}, {})
            return cls(NOWHERE, hello, [count(t) for t in state["trained_in"]], text(state.get("key", "")))
        except MALFORMED as error:
            raise DataError(f"malformed client ({type(error).__name__})") from None
