"""A process of many mock sites, whose calls some threads make.

Started as ``python -m mock_fleet.process ADDRESS CERTS FIRST COUNT``. It prints ``connected`` once all are, and then a
line of ``calls answered`` every second.
"""

import heapq
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

from mock_fleet.site import MockSite

THREADS = 16


class Schedule:
    """When each site looks next; the earliest first."""

    def __init__(self, sites: list[MockSite]) -> None:
        now = time.monotonic()
        self._due = [(now + i / len(sites), i) for i in range(len(sites))]
        self._sites, self._changed = sites, threading.Condition()

    def serve(self) -> None:
        """Take sites as they are due, for ever; many threads do."""
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(max(0.005, self._due[0][0] - time.monotonic()) if self._due else 1.0)
                _, i = heapq.heappop(self._due)
            try:
                pause = self._sites[i].look()
            except grpc.RpcError as error:
                print(f"{self._sites[i].name}: {error.code().name}", file=sys.stderr, flush=True)
                pause = 1.0
            except ObjectPushError as error:  # as the server gave the request again before its reply was there
                print(f"{self._sites[i].name}: {error}", file=sys.stderr, flush=True)
                pause = 1.0
            with self._changed:
                heapq.heappush(self._due, (time.monotonic() + pause, i))
                self._changed.notify()


def main(arguments: list[str]) -> None:
    """Connect, say so, and serve until this process is ended."""
    address, certs, first, count = arguments[0], Path(arguments[1]), int(arguments[2]), int(arguments[3])
    certificate = (certs / "ca.crt").read_bytes()
    names = [f"site-{first + i:04d}" for i in range(count)]
    sites = [MockSite(name, address, certificate, certs / "clients" / name) for name in names]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(MockSite.connect, sites))
    print("connected", flush=True)
    schedule = Schedule(sites)
    for _ in range(THREADS):
        threading.Thread(target=schedule.serve, daemon=True).start()
    while True:
        time.sleep(1)
        print(sum(site.calls for site in sites), sum(site.answered for site in sites), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
