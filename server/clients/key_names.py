"""Checks of a site's name against the names of the keys that are registered at the server.

A deployment checks keys, and mostly a site has the name of its key. Where it has another, nothing says that it may not;
but a name that belongs to another key is not its own.
"""

import unicodedata
from collections.abc import Collection, Mapping

from flwr.serverapp import Grid

from server.clients.record import Client

__all__ = ["KeyNames"]


class KeyNames:
    """Names under which keys are registered, of all nodes that were ever connected; empty where nodes need no key."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}  # by node id

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
            What the node calls itself. Names that differ in case or in forms of the same letters count as one.
        node : int
            Its id.
        clients : mapping of str to Client
            The clients of the run, by name.
        """
        key = self.of(node)
        if not key or key == name:
            return ""
        others = ({*self._names.values()} | {client.key for client in clients.values()}) - {key, ""}
        if _folded(name) in map(_folded, others):
            return (
                f"A site with the key {key!r} calls itself {name!r}, but that is the name of another site's key: start "
                f"it with --name {key}."
            )
        known = clients.get(name)
        if known is not None and known.key not in ("", key):
            return (
                f"A site with the key {key!r} calls itself {name!r}, but in this run that is the site with the key "
                f"{known.key!r}: start it with --name {key}."
            )
        return ""


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
