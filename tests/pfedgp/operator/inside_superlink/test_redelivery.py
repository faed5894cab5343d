"""A request whose delivery was cut off is given again, on Flower's own state in memory and in a database."""

import types
from collections.abc import Callable
from typing import Any

import pytest
from flwr.app import Message, RecordDict
from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID, SUPERLINK_NODE_ID, SubStatus
from flwr.proto.fleet_pb2 import PullMessagesRequest
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.node_pb2 import Node
from flwr.server.superlink.fleet.message_handler import message_handler
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.supercore.constant import NOOP_FEDERATION_ID, TaskType
from flwr.supercore.inflatable.inflatable_object import get_object_tree
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.superlink.federation import NoOpFederationManager

from pfedgp.operator.inside_superlink import redelivery
from pfedgp.operator.inside_superlink.redelivery import TIMES, Redelivery
from pfedgp_core.patch import lacks


class SuperLink:
    """The part of Flower's SuperLink that hands requests out; another one of the same database is one started again."""

    def __init__(self, database: str, mended: bool = True) -> None:
        objects = ObjectStoreFactory(database)
        self.state: Any = LinkStateFactory(database, NoOpFederationManager(), objects).state()
        self.store = objects.store()
        self.handler: Any = types.SimpleNamespace(pull_messages=message_handler.pull_messages)
        if mended:
            Redelivery(self.handler).apply()

    def register(self, key: bytes) -> int:
        node = self.state.create_node(NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, key, 0)
        assert isinstance(node, int)
        assert self.state.activate_node(node, 3600.0)
        return node

    def start_run(self) -> int:
        app, kind = ("a/b", "1", "hash", {}), TaskType.SERVER_APP
        run = self.state.create_run(*app, NOOP_FEDERATION_ID, None, NOOP_FLWR_AID, kind)
        assert isinstance(run, int)
        assert self.state.claim_task(self.task(run))
        assert self.state.activate_task(self.task(run))
        return run

    def task(self, run: int) -> int:
        (task,) = self.state.get_tasks(run_ids=[run])
        assert isinstance(task.task_id, int)
        return task.task_id

    def ask(self, run: int, node: int) -> str:
        """Send a request to a node; its id."""
        message = Message(RecordDict(), dst_node_id=node, message_type="train")
        message.metadata.__dict__["_run_id"] = run
        message.metadata.__dict__["_src_node_id"] = SUPERLINK_NODE_ID
        message.metadata.__dict__["_message_id"] = message.object_id
        stored, _ = self.state.store_message_and_object_tree(
            message, get_object_tree(message), self.state.start_session(run)
        )
        assert stored
        return message.metadata.message_id

    def pull(self, node: int) -> list[str]:
        """Ids of the requests that the node is given now."""
        answer = self.handler.pull_messages(
            request=PullMessagesRequest(node=Node(node_id=node)), state=self.state, store=self.store
        )
        return [message.metadata.message_id for message in answer.messages_list]

    def confirm(self, run: int, message: str) -> None:
        message_handler.confirm_message_received(
            ConfirmMessageReceivedRequest(run_id=run, message_object_id=message), self.state, self.store
        )


@pytest.mark.slow
def test_flower_gives_a_request_once(database: str) -> None:
    link = SuperLink(database, mended=False)
    run, node = link.start_run(), link.register(b"a")
    assert link.pull(node) == []
    message = link.ask(run, node)
    assert [link.pull(node), link.pull(node)] == [[message], []]


@pytest.mark.slow
def test_a_request_that_is_not_confirmed_is_given_again(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    message = link.ask(run, node)
    assert [link.pull(node), link.pull(node)] == [[message], [message]]
    link.confirm(run, message)
    assert link.pull(node) == []


def test_one_site_does_not_get_what_another_was_given(database: str) -> None:
    link = SuperLink(database)
    run, first, second = link.start_run(), link.register(b"a"), link.register(b"b")
    message = link.ask(run, first)
    assert [link.pull(first), link.pull(second), link.pull(first)] == [[message], [], [message]]


def test_a_lost_request_comes_before_a_later_one(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    lost = link.ask(run, node)
    assert link.pull(node) == [lost]
    later = link.ask(run, node)
    assert link.pull(node) == [lost]
    link.confirm(run, lost)
    assert link.pull(node) == [later]


def test_a_request_of_a_run_that_is_over_is_not_given_again(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    message = link.ask(run, node)
    assert link.pull(node) == [message]
    assert link.state.finish_task(link.task(run), SubStatus.COMPLETED, "")
    assert link.pull(node) == []


def test_a_request_that_a_site_never_takes_in_is_given_up(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    message = link.ask(run, node)
    assert [link.pull(node) for _ in range(TIMES + 1)] == [[message]] * (TIMES + 1)
    assert link.pull(node) == []


@pytest.mark.slow
def test_a_superlink_that_is_started_again_gives_what_the_former_one_lost(on_disk: str) -> None:
    link = SuperLink(on_disk)
    run, node = link.start_run(), link.register(b"a")
    confirmed, lost = link.ask(run, node), ""
    assert link.pull(node) == [confirmed]
    link.confirm(run, confirmed)
    lost = link.ask(run, node)
    assert link.pull(node) == [lost]
    again = SuperLink(on_disk)
    assert again.pull(node) == [lost]
    again.confirm(run, lost)
    assert again.pull(node) == []


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert Redelivery().missing() == ""


@pytest.mark.parametrize("gone", ["MessageIns.delivered_at", "LinkState.get_run_status", "ObjectStore.__contains__"])
def test_a_flower_without_a_part_is_named(monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    def without(module: str, path: str, *parameters: Any) -> str:
        return f"{module}.{path} is gone" if path == gone else lacks(module, path, *parameters)

    patched: Callable[..., str] = without
    monkeypatch.setattr(redelivery, "lacks", patched)
    assert Redelivery().missing().endswith(f"{gone} is gone")
