"""All patches of Flower at a site: which Flower has what they need, and what a site does where it has not."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import flwr.supernode.start_client_internal as supernode_loop
import pytest
from flwr.common import constant
from flwr.supercore import task_identity
from flwr.supercore.inflatable import inflatable_utils
from flwr.supercore.task_identity import TaskIdentity
from flwr.supernode.nodestate import NodeState

from pfedgp.site import supernode
from pfedgp.site.flower_waits import Waits
from pfedgp.site.lost_messages import LostMessages
from pfedgp.site.own_agent import OwnAgent
from pfedgp.site.patches import SITE_PATCHES, patch_supernode
from pfedgp.site.plan import SitePlan
from pfedgp.site.task_name import TaskName
from pfedgp_core.patch import lost_patches

Change = Callable[[pytest.MonkeyPatch], None]


def test_the_pinned_flower_has_all_that_they_need() -> None:
    assert lost_patches(SITE_PATCHES) == []


def test_those_that_carry_safety() -> None:
    safety = ["own-agent", "short-waits", "lost-messages", "whole-replies", "task-name"]
    assert [p.name for p in SITE_PATCHES if p.safety] == safety


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.setattr("flwr.__version__", "1.40.0"), "Flower 1.40.0 is installed"),
        (lambda m: m.setitem(sys.modules, "pfedgp.site.agent", None), "pfedgp.site.agent"),
    ],
)
def test_a_flower_without_what_the_agent_needs_is_named(
    monkeypatch: pytest.MonkeyPatch, change: Change, reason: str
) -> None:
    change(monkeypatch)
    assert reason in OwnAgent().missing()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.delattr(supernode_loop, "_pull_and_store_message"), "_pull_and_store_message is gone"),
        (
            lambda m: m.setattr(supernode_loop, "_pull_and_store_message", lambda state: None),
            "_pull_and_store_message takes no object_store, receive",
        ),
        (lambda m: m.delattr(NodeState, "get_messages"), "NodeState.get_messages is gone"),
        (lambda m: m.delattr(constant, "SubStatus"), "SubStatus is gone"),
    ],
)
def test_a_loop_that_takes_messages_in_another_way_is_named(
    monkeypatch: pytest.MonkeyPatch, change: Change, reason: str
) -> None:
    change(monkeypatch)
    assert LostMessages().missing().endswith(reason)


def test_a_task_without_an_identity_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(task_identity, "TaskIdentity")
    assert TaskName().missing() == "flwr.supercore.task_identity.TaskIdentity is gone"


def test_an_identity_without_a_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(type(TaskIdentity), "run_id")
    assert TaskName().missing() == "flwr.supercore.task_identity.TaskIdentity has no run_id"


def test_the_identity_is_set() -> None:
    TaskName((3, 5, 7)).apply()
    assert (TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id) == (3, 5, 7)


def test_a_patch_that_carries_no_safety_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("time", "_pull_and_store_message", "_push_messages"):
        monkeypatch.setattr(supernode_loop, name, getattr(supernode_loop, name))
    monkeypatch.delattr(inflatable_utils, "pull_and_inflate_object_from_tree")
    (left_out,) = patch_supernode(Waits())
    assert left_out.startswith("The patch object-limits (")


def events_of_a_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, str]]:
    """What a SuperNode that does not come to run tells its supervisor."""
    monkeypatch.setattr(supernode, "end_with_parent", lambda *_: None)
    (tmp_path / "flwr").mkdir()
    file = tmp_path / "events"
    plan = SitePlan("localhost:9092", "/ca.crt", "/key", {}, str(tmp_path), "x")
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    assert supernode.main([plan.to_json(), str(descriptor), "1"]) == 1
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_site_without_a_patch_that_carries_safety_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(supernode_loop, "_pull_and_store_message")
    (event,) = events_of_a_start(monkeypatch, tmp_path)
    assert event == {
        "event": "refused",
        "text": "The patch lost-messages (a request that never comes whole does not delay all later replies of a site) "
        "does not fit the installed version: flwr.supernode.start_client_internal._pull_and_store_message is gone. "
        "Install flwr>=1.39,<1.40, or give --stock where this site may run any app.",
    }
