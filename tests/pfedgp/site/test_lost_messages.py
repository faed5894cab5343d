"""A request whose sender dies before its content leaves nothing behind in a SuperNode."""

import types
from typing import Any

import flwr.supernode.start_client_internal as supernode_loop
import pytest
from flwr.app import Message, RecordDict
from flwr.common.constant import Status
from flwr.supercore.constant import TaskType
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run, RunNotRunningException
from flwr.supernode.nodestate import NodeStateFactory

from pfedgp.site.lost_messages import LostMessages

RUN = 7


class SuperNode:
    """The part of Flower's SuperNode that takes requests in, with what it keeps."""

    def __init__(self, mended: bool) -> None:
        store = ObjectStoreFactory()
        self.state, self.store = NodeStateFactory(store).state(), store.store()
        self.state.set_node_id(1)
        self.state.store_run(Run.create_empty(RUN))
        self.loop: Any = types.ModuleType("loop")
        self.loop._pull_and_store_message = supernode_loop._pull_and_store_message
        if mended:
            LostMessages(self.loop).apply()

    def take(self, message: Message | None, content: Any) -> int | None:
        """One look for a request; `content` is called for each of its objects."""
        received = None if message is None else (message, get_object_tree(message))
        return self.loop._pull_and_store_message(
            state=self.state,
            object_store=self.store,
            node_config={},
            receive=lambda: received,
            get_run=None,
            get_fab=None,
            pull_object=content,
            confirm_message_received=lambda run, message: None,
            trusted_entities=None,
        )

    def open_tasks(self) -> int:
        """Tasks that an agent would take, or has taken."""
        return len(self.state.get_tasks(statuses=[Status.PENDING, Status.STARTING, Status.RUNNING]))


def request() -> Message:
    """A request as it is announced."""
    message = Message(RecordDict(), dst_node_id=1, message_type="train")
    message.metadata.__dict__["_run_id"] = RUN
    message.metadata.__dict__["_message_id"] = message.object_id
    return message


def run_is_over(run_id: int, object_id: str) -> bytes:
    """What the SuperLink says to whoever asks for content of a run that has ended."""
    raise RunNotRunningException


@pytest.mark.parametrize("mended", [False, True])
def test_a_request_without_content_is_forgotten(mended: bool) -> None:
    node = SuperNode(mended)
    assert node.take(request(), run_is_over) is None
    # Flower's own behaviour, for as long as this file is needed.
    assert node.open_tasks() == (0 if mended else 1)
    assert len(node.state.get_messages()) == (0 if mended else 1)


def test_what_others_have_open_stays_and_an_error_reply_for_the_lost_one_goes() -> None:
    node = SuperNode(mended=True)
    former = node.state.create_task(task_type=TaskType.CLIENT_APP, run_id=RUN, fab_hash="")
    assert former is not None

    def expire(run_id: int, object_id: str) -> bytes:
        (lost,) = node.state.get_messages(is_reply=False)  # as an agent takes it, whose task then expires
        assert lost is not None
        node.state._on_task_tokens_expired(node.state.get_tasks())
        return run_is_over(run_id, object_id)

    assert node.take(request(), expire) is None
    assert [task.task_id for task in node.state.get_tasks(statuses=[Status.PENDING])] == [former]
    assert not node.state.get_messages()


def test_whole_requests_and_silence_are_left_alone() -> None:
    node = SuperNode(mended=True)
    message = request()
    objects = get_all_nested_objects(message)
    assert node.take(None, run_is_over) is None
    assert node.take(message, lambda run_id, object_id: objects[object_id].deflate()) == RUN
    assert node.open_tasks() == 1
    assert node.take(None, run_is_over) is None
    assert node.open_tasks() == 1
    assert [kept.metadata.message_id for kept in node.state.get_messages(is_reply=False)] == [message.object_id]
