"""Who is there and who is away, as lists that are made again only where something has changed.

With thousands of clients the lists cost more than a round, and in a simulation nobody comes or goes.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from server.clients.record import Client

__all__ = ["Presence"]


@dataclass(frozen=True)
class Presence:
    """The clients of a run at one moment, by name.

    Attributes
    ----------
    all : list of Client
    online : list of Client
        Whose node takes part, and that answer.
    returning, missing : list of str
        Names of those whose node takes part and that do not answer yet; of all that are not online.
    """

    all: list[Client]
    online: list[Client]
    returning: list[str]
    missing: list[str]

    @classmethod
    def of(cls, clients: Mapping[str, Client], nodes: Collection[int], awaited: Callable[[str], bool]) -> "Presence":
        """Sort clients by where they are.

        Parameters
        ----------
        clients : mapping of str to Client
            By name.
        nodes : collection of int
            That take part.
        awaited : callable
            Whether the client of a name has to answer a greeting first.
        """
        names = sorted(clients)
        everyone = [clients[name] for name in names]
        away = [name for name in names if clients[name].node_id not in nodes]
        absent = set(away)
        returning = [name for name in names if awaited(name) and name not in absent]
        absent.update(returning)
        missing = [name for name in names if name in absent]
        online = [client for name, client in zip(names, everyone, strict=True) if name not in absent]
        return cls(everyone, online, returning, missing)
