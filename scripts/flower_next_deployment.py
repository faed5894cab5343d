"""A deployment on a Flower whose sites speak HTTP: one SuperLink, Flower's own SuperNodes, pFedGP's two apps.

``scripts/flower_next.py`` starts it with the Python of its environment. pFedGP's own sites are not a part of it: they
refuse to start on a Flower that their patches do not fit.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from pfedgp.local.deployment import deploy_local
from pfedgp.local.processes import START_TIMEOUT, LocalFlower
from pfedgp.operator.addresses import is_open
from pfedgp.processes.flower import flower_program, free_ports
from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError, RunFailedError


class HttpFlower(LocalFlower):
    """Starts Flower's processes as they are since its Fleet API is a part of the SuperLink's one HTTP port."""

    def start_superlink(self) -> None:
        """Start the SuperLink and wait until its port is open."""
        self.fleet_port = self.port
        self._start(
            "superlink",
            *(flower_program("flower-superlink"), "--insecure", "--host", "127.0.0.1", "--port", str(self.port)),
            "--disable-runtime-dependency-installation",
        )
        deadline = time.monotonic() + START_TIMEOUT
        while not is_open("127.0.0.1", self.port):
            self.check("superlink")
            if time.monotonic() > deadline:
                raise RunFailedError(f"The SuperLink did not start: {self.tail('superlink')}")
            time.sleep(0.1)

    def start_site(self, index: int, sites: int, *_: Any, **__: Any) -> None:
        """Start Flower's own SuperNode, with a part of the simulated data set."""
        self._start(
            f"site-{index}",
            *(flower_program("flower-supernode"), "--insecure", "--superlink", f"127.0.0.1:{self.port}"),
            *("--host", "127.0.0.1", "--port", str(free_ports(1)[0])),
            *("--node-config", f"partition-id={index} num-partitions={sites}"),
        )


def main() -> int:
    """Run two rounds with two sites; 1 and a sentence where that fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the artefacts")
    out = parser.parse_args().out
    settings = Settings(clients=2, clients_per_round=2, classes_per_client=5, rounds=2)
    try:
        deploy_local(settings, out, print, processes=HttpFlower)
    except PFedGPError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
