"""Shared by all tests: a quiet environment, one thread, Flower's task identity, the golden cases."""

import json
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Flower and ray read these when they are imported, and their child processes inherit them.
QUIET = {
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_LOG_LEVEL": "WARNING",
    "FLWR_TELEMETRY_ENABLED": "0",
    "MPLBACKEND": "Agg",
    "RAY_USAGE_STATS_ENABLED": "0",
}
for _name, _value in QUIET.items():
    os.environ.setdefault(_name, _value)

# A shell ignores Ctrl-C for what it starts in the background, and programs that tests start would inherit that.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402

# How long an example takes is a matter of the machine and of what else runs on it.
hypothesis.settings.register_profile(
    "pfedgp", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("pfedgp")

# Threads change the order of sums, and with it the last bits that some tests compare.
torch.set_num_threads(1)

TESTS = Path(__file__).resolve().parent
DEPLOY = TESTS / "deploy"
FLOWER_TESTS = {"client", "deploy", "pfedgp", "server"}


def pytest_configure(config: pytest.Config) -> None:
    """Keep Flower's files of the test session out of the user's home."""
    config.stash[_HOME] = None if "FLWR_HOME" in os.environ else tempfile.mkdtemp(prefix="pfedgp-tests-")
    if config.stash[_HOME]:
        os.environ["FLWR_HOME"] = config.stash[_HOME]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what `pytest_configure` made."""
    if config.stash.get(_HOME, None):
        shutil.rmtree(config.stash[_HOME], ignore_errors=True)
        os.environ.pop("FLWR_HOME", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: the last ones to end would otherwise run alone; of these deployments come last.

    The tests of one deployment share its processes, and stop some of them, so they keep their order.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, DEPLOY in item.path.parents))
    for path in {item.path for item in items if DEPLOY in item.path.parents}:
        places = [i for i, item in enumerate(items) if item.path == path]
        written = sorted((items[i] for i in places), key=lambda item: item.location[1] or 0)
        for i, item in zip(places, written, strict=True):
            items[i] = item


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out slow tests that would begin after `PFEDGP_BEGIN_UNTIL`, a Unix time that .ci/run sets."""
    until = os.environ.get("PFEDGP_BEGIN_UNTIL", "")
    if until and item.get_closest_marker("slow") and time.time() > float(until):
        pytest.skip("no time left on this machine for slow tests")


_HOME = pytest.StashKey[str | None]()


@pytest.fixture(autouse=True)
def flower_task_identity(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let tests of the two apps make messages outside a Flower process; other tests never import Flower."""
    parts = request.node.path.relative_to(TESTS).parts
    if parts[0] not in FLOWER_TESTS:
        yield
        return
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    yield
    # A test may have run a simulation, which leaves the identity of its own run behind.
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


@pytest.fixture(autouse=True)
def loggers_that_speak(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let Flower's logger and ours reach `caplog` whatever has silenced them, such as a simulation or a tracker."""
    if request.node.path.relative_to(TESTS).parts[0] not in FLOWER_TESTS:
        yield
        return
    flower = logging.getLogger("flwr")
    level = flower.level
    with pytest.MonkeyPatch.context() as patch:
        ours = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "pfedgp"]
        for name in ("flwr", *ours):
            patch.setattr(logging.getLogger(name), "propagate", True)
            patch.setattr(logging.getLogger(name), "disabled", False)
        flower.setLevel(min(level, logging.WARNING))
        yield
    flower.setLevel(level)


class GoldenCases:
    """Reference values from independent oracles (``tests/golden/golden_public.json``)."""

    def __init__(self, path: Path) -> None:
        self.cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cases"]

    def topic(self, name: str) -> list[dict[str, Any]]:
        """All cases of a topic; a topic without cases is a mistake of the caller."""
        found = [case for case in self.cases if case["topic"] == name]
        assert found, f"no golden case has the topic {name!r}"
        return found

    def case(self, case_id: str) -> dict[str, Any]:
        """The case of this id."""
        (found,) = [case for case in self.cases if case["id"] == case_id]
        return found


@pytest.fixture(scope="session")
def golden() -> GoldenCases:
    """The golden cases, read once a session."""
    return GoldenCases(TESTS / "golden" / "golden_public.json")
