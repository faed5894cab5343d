"""Objects of a request on their way to a site: asked for again soon, and given up in time."""

from collections.abc import Iterator

import flwr.supernode.start_client_internal as supernode_loop
import pytest
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.inflatable import inflatable_utils
from flwr.supernode.runtime import run_clientapp

from pfedgp.site import object_limits
from pfedgp.site.object_limits import ObjectLimits

FUNCTIONS = (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree)


@pytest.fixture(autouse=True)
def flowers_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Flower's defaults, before and after."""
    for function in FUNCTIONS:
        monkeypatch.setattr(function, "__kwdefaults__", function.__kwdefaults__ | {"initial_backoff": 1})
    return


def missing(object_id: str) -> bytes:
    raise inflatable_utils.ObjectUnavailableError(object_id)


def test_the_first_wait_is_short() -> None:
    ObjectLimits().apply()
    assert [function.__kwdefaults__["initial_backoff"] for function in FUNCTIONS] == [0.05, 0.05]


def test_an_object_that_is_late_is_taken() -> None:
    ObjectLimits().apply()
    tries = []

    def pull(object_id: str) -> bytes:
        tries.append(object_id)
        return b"content" if len(tries) == 3 else missing(object_id)

    assert supernode_loop.pull_objects(["a"], pull) == {"a": b"content"}


def test_the_loop_gives_up_an_object_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_limits, "CONTENT", 0.3)
    ObjectLimits().apply()
    with pytest.raises(inflatable_utils.ObjectPullError):  # Flower's own limit is two hours
        supernode_loop.pull_objects(["a"], missing)


def test_the_agent_gives_up_an_object_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_limits, "STORED", 0.2)
    ObjectLimits().apply()
    with pytest.raises(inflatable_utils.ObjectPullError):
        run_clientapp.pull_and_inflate_object_from_tree(ObjectTree(object_id="a"), missing, lambda object_id: None)


def test_a_function_without_the_parameters_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflatable_utils, "pull_objects", lambda ids, pull, *, max_time=1.0, backoff_cap=1.0: {})
    assert ObjectLimits().missing() == f"{inflatable_utils.__name__}.pull_objects has no default of initial_backoff"


def test_a_function_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(inflatable_utils, "pull_and_inflate_object_from_tree")
    assert ObjectLimits().missing() == f"{inflatable_utils.__name__}.pull_and_inflate_object_from_tree is gone"
