"""The choices of a server's operator: folders, addresses, and what is kept on disk."""

from dataclasses import dataclass
from pathlib import Path

from pfedgp.operator.addresses import join, reachable_as
from pfedgp.operator.state import ServerState

__all__ = ["Server"]


@dataclass(frozen=True)
class Server:
    """What the operator has chosen.

    Parameters
    ----------
    state : ServerState
    certs : Path
        Folder of ``pfedgp certs``.
    fleet, control : tuple of str and int
        Where sites and operators are listened to.
    database : bool
        Keep runs and registrations on disk.
    superexec : bool
        Start a SuperExec too.
    connections : int
        How many connections the Fleet port holds at a time; a site has one.
    """

    state: ServerState
    certs: Path
    fleet: tuple[str, int]
    control: tuple[str, int]
    database: bool = True
    superexec: bool = True
    connections: int = 1000

    @property
    def ca(self) -> Path:
        """Certificate of the authority."""
        return self.certs / "ca.crt"

    @property
    def control_address(self) -> str:
        """Where programs on this machine reach the Control API."""
        return join(reachable_as(self.control[0]), self.control[1])
