"""What the server app needs of Flower's grid: what is named where it is gone, and that no deployed run starts then."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flwr.app import Context, RecordDict
from flwr.app import message as flower_message
from flwr.supercore.inflatable import inflatable_utils
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.superlink.grid import http_grid
from flwr.superlink.grid.http_grid import HttpGrid

from client.client_app import app as client_app
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.patch import lost_patches
from server.flower.patches import SERVER_PATCHES, ReadableReplies, RepliesInTime, RetriesEnd, guarded
from server.server_app import app as server_app
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, federate, start

Change = Callable[[pytest.MonkeyPatch], None]


def flowers_grid() -> HttpGrid:
    return HttpGrid("127.0.0.1:9", insecure=True, token="none")


def test_the_pinned_flower_has_all_that_they_need() -> None:
    assert lost_patches(SERVER_PATCHES) == []


def test_all_carry_safety() -> None:
    assert all(patch.safety for patch in SERVER_PATCHES)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.delattr(inflatable_utils, "pull_objects"), "pull_objects is gone"),
        (
            lambda m: m.setattr(inflatable_utils, "pull_objects", lambda ids, pull, *, max_time, backoff_cap: {}),
            "pull_objects takes no initial_backoff, max_tries_per_object",
        ),
        (lambda m: m.delattr(HttpGrid, "_runtime_client"), "HttpGrid._runtime_client is gone"),
        (lambda m: m.delattr(http_grid, "HttpGrid"), "HttpGrid._runtime_client is gone"),
        (lambda m: m.delattr(RuntimeHttpClient, "PullMessages"), "RuntimeHttpClient.PullMessages is gone"),
        (
            lambda m: m.setitem(sys.modules, "server.flower.deployed_grid", None),
            "import of server.flower.deployed_grid halted; None in sys.modules",
        ),
    ],
)
def test_without_limits_of_time_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, change: Change, reason: str
) -> None:
    change(monkeypatch)
    assert RepliesInTime().missing().endswith(reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.delattr(inflatable_utils, "inflate_object_from_contents"), "from_contents is gone"),
        (lambda m: m.setattr(flower_message, "make_message", lambda content: None), "takes no error, metadata"),
    ],
)
def test_without_a_way_to_read_replies_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch, change: Change, reason: str
) -> None:
    change(monkeypatch)
    assert ReadableReplies().missing().endswith(reason)


def without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Flower whose grid makes its tries in another place."""
    make = HttpGrid.__init__

    def init(self: HttpGrid, *arguments: object, **options: object) -> None:
        make(self, *arguments, **options)  # type: ignore[arg-type]
        del self._retry_invoker

    monkeypatch.setattr(HttpGrid, "__init__", init)


def test_a_grid_without_tries_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    without_retries(monkeypatch)
    assert "no attribute '_retry_invoker'" in RetriesEnd().missing()


def test_tries_that_know_no_end_are_named() -> None:
    grid = flowers_grid()
    del grid._retry_invoker.max_time
    assert RetriesEnd(grid).missing() == "the retries of HttpGrid have no max_time"


def test_a_connection_with_tries_of_its_own_is_named() -> None:
    grid = flowers_grid()
    grid._runtime_client._retry_invoker = None
    assert RetriesEnd(grid).missing() == "the connection of HttpGrid does not use its retries"


def test_the_tries_of_a_grid_get_an_end() -> None:
    grid = flowers_grid()
    RetriesEnd(grid, seconds=7.0).apply()
    assert grid._retry_invoker.max_time == 7.0


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.delattr(inflatable_utils, "pull_objects"),
        lambda m: m.delattr(inflatable_utils, "inflate_object_from_contents"),
        without_retries,
    ],
)
def test_a_deployed_run_does_not_start_without_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Change
) -> None:
    change(monkeypatch)
    config = Settings().to_run_config() | {"out": str(tmp_path / "run")}
    with pytest.raises(ConfigError, match=r"^The patch \S+ \(.*\) does not fit .* Install flwr>=1.39,<1.40\.$"):
        server_app(flowers_grid(), Context(1, 1, {}, RecordDict(), dict(config)))


def test_a_grid_that_flower_calls_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = type("OtherGrid", (HttpGrid,), {"__module__": "flwr.superlink.grid.other", "__init__": lambda self: None})
    with pytest.raises(ConfigError, match="The patch retries-end"):
        guarded(other())


@pytest.mark.slow
def test_a_simulation_needs_none_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(inflatable_utils, "pull_objects")
    assert federate(SMALL.replace(rounds=1), tmp_path / "run").summary["status"] == "completed"


@pytest.mark.slow
def test_the_summary_of_a_run_with_all_of_them_names_none(tmp_path: Path) -> None:
    assert federate(SMALL.replace(rounds=1), tmp_path / "run").summary["run"]["patches_missing"] == []


@pytest.mark.slow
def test_the_summary_names_what_a_simulation_goes_on_without(tmp_path: Path) -> None:
    grid = FakeGrid(client_app, SMALL.clients)
    grid.engine = replace(grid.engine, patches_missing=("The patch ray-signals does not fit.",))
    run = start(grid, SMALL.replace(rounds=1), tmp_path / "run")
    assert run.summary["run"]["patches_missing"] == ["The patch ray-signals does not fit."]
