"""Whose name a client uses: a site says its own name, and its key is registered at the server under one too.

A deployment checks keys, and mostly a site has the name of its key. Where it has another, nothing says that it may not;
but a name that belongs to another key is not its own.
"""

from collections.abc import Mapping

from flwr.serverapp import Grid

from server.client_record import Client

__all__ = ["key_names", "pretended"]


def key_names(grid: Grid) -> dict[int, str]:
    """Names under which the keys of connected nodes are registered, by node id; empty names where nodes need no key."""
    return {node.node_id: node.name or "" for node in grid.get_nodes()}


def pretended(name: str, node: int, keys: Mapping[int, str], known: Client | None) -> str:
    """Say why a node may not call itself by a name; empty where it may.

    Parameters
    ----------
    name : str
        What the node calls itself.
    node : int
        Its id.
    keys : mapping of int to str
        From `key_names`, of all nodes that were ever connected.
    known : Client, optional
        The client that has had this name in the run.
    """
    key = keys.get(node, "")
    if not key or key == name:
        return ""
    if name in keys.values():
        return (
            f"A site with the key {key!r} calls itself {name!r}, but that is the name of another site's key: start it "
            f"with --name {key}."
        )
    if known is not None and known.key not in ("", key):
        return (
            f"A site with the key {key!r} calls itself {name!r}, but in this run that is the site with the key "
            f"{known.key!r}: start it with --name {key}."
        )
    return ""
