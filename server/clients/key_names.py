"""Checks of a site's name against the names of the keys that are registered at the server.

A deployment checks keys, and mostly a site has the name of its key. Where it has another, nothing says that it may not;
but a name that belongs to another key is not its own.
"""

from collections.abc import Collection, Mapping

from flwr.serverapp import Grid

from pfedgp_core.names import alike, escaped, look
from server.clients.record import Client

__all__ = ["KeyNames"]


class KeyNames:
    """Names under which keys are registered, of all nodes that were ever connected; empty where nodes need no key.

    Parameters
    ----------
    excluded : collection of str
        Names that take no part in the run, of clients or of their keys.
    """

    def __init__(self, excluded: Collection[str] = ()) -> None:
        self._excluded = frozenset(excluded)
        self._names: dict[int, str] = {}  # by node id
        self._looks: dict[tuple[int, str], set[str]] = {}  # how a name looks -> names of clients, also former ones

    def look_up(self, grid: Grid, nodes: Collection[int]) -> bool:
        """Ask the grid where some of these nodes are new; returns whether it has told of new ones."""
        before = len(self._names)
        if not self._names.keys() >= set(nodes):
            self._names |= {node.node_id: node.name or "" for node in grid.get_nodes()}
        return len(self._names) > before

    def knows(self, node: int) -> bool:
        """Whether a node was ever connected while the grid was asked."""
        return node in self._names

    def of(self, node: int) -> str:
        """Name of a node's key; empty where it needs none."""
        return self._names.get(node, "")

    def pretended(self, name: str, node: int, clients: Mapping[str, Client]) -> str:
        """Say why a node may not call itself by a name; empty where it may.

        Parameters
        ----------
        name : str
            What the node calls itself. Names that look alike, or differ in case alone, count as one.
        node : int
            Its id.
        clients : mapping of str to Client
            The clients of the run, by name.
        """
        key = self.of(node)
        if not self._excluded.isdisjoint({name, key}):
            return f"{name} is left out: this run goes on without it."
        if not key or key == name:
            return ""
        others = ({*self._names.values()} | {client.key for client in clients.values()}) - {key, ""}
        if any(alike(name, other) for other in others):
            return (
                f"A site with the key {key!r} calls itself {named(name)}, but that is the name of another site's key: "
                f"start it with --name {key}."
            )
        known = clients.get(name)
        if known is not None and known.key not in ("", key):
            return (
                f"A site with the key {key!r} calls itself {name!r}, but in this run that is the site with the key "
                f"{known.key!r}: start it with --name {key}."
            )
        return ""

    def joined(self, name: str) -> None:
        """Note the name of a client of the run, so that `twin` finds it among thousands."""
        for entry in enumerate(look(name)):
            self._looks.setdefault(entry, set()).add(name)

    def twin(self, name: str, node: int, clients: Mapping[str, Client]) -> str:
        """Say which client of the run a node's name could be taken for; empty where there is none.

        A node whose key has that name is who it says it is, and the other one is not. Only clients that have `joined`
        are found.
        """
        own = self.of(node) == name
        candidates = set[str]().union(*(self._looks.get(entry, ()) for entry in enumerate(look(name))))
        for other in sorted(candidates - {name}):
            client = clients.get(other)
            if client and client.node_id != node and (not own or client.key == other):
                return (
                    f"A client calls itself {named(name)}, which looks like {named(other)}, another client's name: "
                    "give it another client-name."
                )
        return ""


def named(name: str) -> str:
    """A name in quotes, with what it is made of where that is not what it looks like."""
    return repr(name) if name.isascii() else f"{name!r} ({escaped(name)})"
