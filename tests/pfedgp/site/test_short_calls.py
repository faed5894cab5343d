"""The agent's calls to the SuperNode in its own process: the same answers as over HTTP, and the same refusals."""

import types
from typing import Any

import httpx
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.common.constant import SubStatus
from flwr.proto.runtime_pb2 import AcquireTaskRequest, PullTaskInputRequest, SendTaskHeartbeatRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.fab import Fab
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supernode.nodestate import NodeStateFactory
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from pfedgp.site.short_calls import ShortCalls, Shortly

RUN, NODE = 7, 1


class SuperNode:
    """The state of one with a request that waits for its agent."""

    def __init__(self) -> None:
        self.factory = NodeStateFactory(ObjectStoreFactory())
        self.state: Any = self.factory.state()
        self.state.set_node_id(NODE)
        run = Run.create_empty(RUN)
        run.fab_hash = self.state.store_fab(Fab("", b"fab", {}))
        self.state.store_run(run)
        self.state.set_run_series_context(run.series_id, Context(RUN, NODE, {}, RecordDict(), {}))
        self.state.create_task(task_type=TaskType.CLIENT_APP, run_id=RUN, fab_hash=run.fab_hash)
        self.request = Message(RecordDict({"a": ConfigRecord({"b": 1})}), dst_node_id=NODE, message_type="train")
        self.request.metadata.__dict__["_run_id"] = RUN
        self.request.metadata.__dict__["_message_id"] = self.request.object_id
        self.state.store_message(self.request)
        self.state.object_store.preregister(RUN, get_object_tree(self.request))
        for key, part in get_all_nested_objects(self.request).items():
            self.state.object_store.put(key, part.deflate())

    def token(self) -> str:
        task = Shortly(self.state).AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.CLIENT_APP]))
        return str(task.token)


def test_a_message_goes_to_the_agent_and_its_reply_back() -> None:
    node = SuperNode()
    client: Any = Shortly(node.state, node.token())
    message, context, run, _ = pull_task_input(client)
    assert (message.content["a"]["b"], run.run_id) == (1, RUN)  # type: ignore[index]
    assert node.request.object_id not in node.state.object_store  # the agent has confirmed it
    assert client.SendTaskHeartbeat(SendTaskHeartbeatRequest()).success
    reply = Message(RecordDict({"c": ConfigRecord({"d": 2})}), reply_to=message)
    push_message(client, reply, context)
    (stored,) = node.state.get_messages(is_reply=True)
    contents = {key: part.deflate() for key, part in get_all_nested_objects(reply).items()}
    assert stored.metadata.message_id == reply.object_id
    assert {key: node.state.object_store.get(key) for key in contents} == contents
    push_task_output(client, context, SubStatus.COMPLETED, "")
    client.close()


def test_there_is_one_task_for_one_request() -> None:
    node = SuperNode()
    assert node.token()
    assert node.token() == ""


@pytest.mark.parametrize("token", ["", "forged"])
def test_who_has_no_task_is_refused(token: str) -> None:
    with pytest.raises(httpx.HTTPError):
        Shortly(SuperNode().state, token).PullTaskInput(PullTaskInputRequest())


def test_a_task_that_is_over_is_refused_at_once() -> None:
    node = SuperNode()
    client: Any = Shortly(node.state, node.token())
    client.PullTaskInput(PullTaskInputRequest())
    push_task_output(client, None, SubStatus.COMPLETED, "")
    for call, asked in (
        (client.PullTaskInput, PullTaskInputRequest()),
        (client.SendTaskHeartbeat, SendTaskHeartbeatRequest()),
    ):
        with pytest.raises(httpx.HTTPError):
            call(asked)


def test_what_the_supernode_refuses_is_an_error_of_the_connection() -> None:
    node = SuperNode()
    client: Any = Shortly(node.state, node.token())
    client.PullTaskInput(PullTaskInputRequest())
    with pytest.raises(httpx.HTTPError):  # it has been started
        client.PullTaskInput(PullTaskInputRequest())


def test_another_call_is_none_of_these() -> None:
    with pytest.raises(AttributeError):
        _ = Shortly(None).GetNodes


def test_the_state_is_that_of_the_program() -> None:
    node, began = SuperNode(), list[Any]()
    program: Any = types.SimpleNamespace(start_client_internal=lambda **named: began.append(named))
    calls = ShortCalls(program)
    assert calls.state is None
    calls.apply()
    program.start_client_internal(state_factory=node.factory, isolation="process")
    assert calls.state is node.state
    assert began == [{"state_factory": node.factory, "isolation": "process"}]


def test_flower_has_what_it_needs() -> None:
    assert ShortCalls().missing() == ""
