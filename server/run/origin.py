"""The origin of a run: the data that it is about and the command that repeats it, one value for all that name them."""

from dataclasses import dataclass

from pfedgp_core.config import Settings
from pfedgp_core.words import counted

__all__ = ["OF_SIMULATIONS", "PUBLISHED", "UNKNOWN", "Origin"]

UNKNOWN = "unknown data, as no client took part"
# Settings that say nothing about sites' own data.
OF_SIMULATIONS = (
    "dataset",
    "data-root",
    "label-column",
    "group-column",
    "partition-by",
    "unseen-clients",
    "partition",
    "classes-per-client",
    "dirichlet-alpha",
    "dirichlet-floor",
    "dirichlet-balanced",
    "novel-clients",
    "novel-alpha",
    "flwr-partitioner",
    "train-samples",
    "natural-floor",
    "noise",
)
PUBLISHED = {"data": "own data of each site", "repeat": "pfedgp run --publish MODEL"}


@dataclass(frozen=True)
class Origin:
    """What report, console, Prometheus, ``config.toml`` and ``summary.json`` say about a run.

    Attributes
    ----------
    data : str
        The name of a simulated data set, or ``own data of 3 sites``.
    repeat : str
        The command that repeats the run, with THIS_FILE for its ``config.toml``; empty where nothing is known.
    own : bool
        Whether the clients brought their data themselves.
    """

    data: str = UNKNOWN
    repeat: str = ""
    own: bool = False

    @classmethod
    def of(cls, settings: Settings, sites: int) -> "Origin":
        """Return the origin of a run that starts now.

        Parameters
        ----------
        settings : Settings
        sites : int
            Clients with data of their own; 0 where they share a simulated data set.
        """
        if sites:
            command = "pfedgp run --config THIS_FILE, at a server with the same sites"
            return cls(f"own data of {counted(sites, 'site')}", command, own=True)
        return cls(settings.dataset, "pfedgp simulate --config THIS_FILE")
