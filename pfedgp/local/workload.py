"""What every worker of a simulation loads: the ClientApp, and the data that all workers share."""

from contextlib import suppress
from dataclasses import dataclass

from flwr.clientapp import ClientApp

from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError

__all__ = ["SharedData", "client_app"]


def client_app() -> ClientApp:
    """Return the ClientApp of pFedGP."""
    from client.client_app import app

    return app


@dataclass(frozen=True)
class SharedData:
    """Loads the simulated data set of a run, once for all workers that are forked from this process.

    Attributes
    ----------
    settings : Settings
        As the requests to the clients carry them.
    """

    settings: Settings

    def __call__(self) -> None:
        """Load it; what is wrong with it is named by the first client that is asked."""
        from pfedgp_core.data.simulated import simulated_partition, simulated_summary

        with suppress(PFedGPError):
            simulated_summary(self.settings, 0)
            simulated_partition(self.settings).hash  # noqa: B018 (the partition keeps it)
