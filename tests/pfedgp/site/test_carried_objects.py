"""A site's messages carry their objects, where the server knows of it."""

import types
from types import SimpleNamespace
from typing import Any

import flwr.supernode.start_client_internal as supernode_loop
import grpc
import pytest
from flwr.app import Message, RecordDict
from flwr.common.serde import message_to_proto
from flwr.proto.fleet_pb2 import PullMessagesRequest, PullMessagesResponse, PushMessagesRequest
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

from pfedgp.site.carried_objects import PULL, PUSH, Cargo, CarriedObjects
from pfedgp_core.wire.carried import WANTED, attach, detach
from tests.pfedgp.site.test_lost_messages import SuperNode, request
from tests.pfedgp.site.test_whole_replies import SuperNode as Replying


def contents_of(message: Message) -> dict[str, bytes]:
    return {key: part.deflate() for key, part in get_all_nested_objects(message).items()}


class Server:
    """A SuperLink at the other end of a connection, which carries objects where it `knows` of it."""

    def __init__(self, knows: bool = True, code: grpc.StatusCode = grpc.StatusCode.OK) -> None:
        self.knows, self.code = knows, code
        self.message: Message | None = None
        self.wanted: list[str] = []
        self.got: list[dict[str, bytes]] = []

    def __call__(self, details: Any, asked: Any) -> Any:
        answer = PullMessagesResponse()
        if details.method == PULL:
            self.wanted = list(asked.message_ids)
            if self.message is not None:
                proto = message_to_proto(self.message)
                if self.knows:
                    attach(proto, contents_of(self.message))
                answer.messages_list.append(proto)
        else:
            self.got += [detach(message) for message in asked.messages_list]
        return SimpleNamespace(code=lambda: self.code, result=lambda: answer)


def pulled(cargo: Cargo, server: Server) -> Any:
    answer = cargo.intercept_unary_unary(server, SimpleNamespace(method=PULL), PullMessagesRequest())
    return answer.result()


def connected(node: Any) -> Cargo:
    """Mend the loop of a node, and return what stands between it and the server."""
    made: list[Any] = []
    connection: Any = SimpleNamespace(create_channel=lambda *_, interceptors: made.extend(interceptors))
    CarriedObjects(node.loop, connection).apply()
    connection.create_channel("address", interceptors=["its own"])
    assert made[1:] == ["its own"]
    cargo: Cargo = made[0]
    return cargo


class Taking(SuperNode):
    """A SuperNode that takes requests in."""

    def __init__(self) -> None:
        super().__init__(mended=True)
        self.loop._push_messages = None
        self.cargo = connected(self)


@pytest.mark.parametrize("knows", [False, True])
def test_a_request_needs_calls_for_its_objects_only_where_the_server_knows_of_none(knows: bool) -> None:
    node, server, message = Taking(), Server(knows), request()
    server.message = message
    answer = pulled(node.cargo, server)
    assert server.wanted == [WANTED]
    assert not answer.messages_list[0].content.items
    fetched: list[str] = []

    def fetch(run: int, object_id: str) -> bytes:
        fetched.append(object_id)
        return contents_of(message)[object_id]

    assert node.take(message, fetch) is not None
    assert set(fetched) == (set() if knows else set(contents_of(message)))
    assert {key: node.store.get(key) for key in contents_of(message)} == contents_of(message)
    assert node.cargo.known == knows


def test_a_forged_object_is_refused_as_one_of_a_call_is() -> None:
    node, message = Taking(), request()
    node.cargo.arrived = dict.fromkeys(contents_of(message), b"forged")
    assert node.take(message, lambda *_: b"") is None
    assert node.open_tasks() == 0


def test_objects_of_one_request_are_not_those_of_the_next() -> None:
    node, server = Taking(), Server()
    server.message = request()
    pulled(node.cargo, server)
    assert node.cargo.arrived
    server.message = None
    pulled(node.cargo, server)
    assert not node.cargo.arrived


def test_a_call_that_fails_brings_nothing() -> None:
    cargo, server = Cargo(), Server(code=grpc.StatusCode.UNAVAILABLE)
    server.message = request()
    cargo.intercept_unary_unary(server, SimpleNamespace(method=PULL), PullMessagesRequest())
    assert (cargo.arrived, cargo.known) == ({}, False)


class Sending(Replying):
    """A SuperNode with a reply to send."""

    def __init__(self) -> None:
        super().__init__(mended=True)
        self.loop._pull_and_store_message = supernode_loop._pull_and_store_message
        self.cargo = connected(self)

    def announce(self, server: Server) -> dict[str, bytes]:
        """Send the reply; what its announcement carries."""

        def send(message: Message, tree: Any, _: float) -> tuple[set[str], str]:
            proto = message_to_proto(Message(RecordDict(), message.metadata.src_node_id, "train"))
            asked = PushMessagesRequest(messages_list=[proto], message_object_trees=[tree])
            self.cargo.intercept_unary_unary(server, SimpleNamespace(method=PUSH), asked)
            return set(), "session"

        self.push(types.SimpleNamespace(send=send, push=None))  # type: ignore[arg-type]
        return server.got[-1]


@pytest.fixture(autouse=True)
def _times_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.supernode.nodestate import NodeStateFactory

    state = type(NodeStateFactory(ObjectStoreFactory()).state())
    monkeypatch.setattr(state, "get_message_processing_duration", lambda self, message_id: 0.0)


@pytest.mark.parametrize("known", [False, True])
def test_a_reply_carries_its_objects_to_a_server_that_knows_of_it(known: bool) -> None:
    node = Sending()
    node.cargo.known = known
    reply = next(part for part in node.objects.values() if isinstance(part, Message))
    assert node.announce(Server()) == (contents_of(reply) if known else {})
    assert node.cargo.leaving == {}


def test_a_second_try_carries_them_once() -> None:
    cargo, server = Cargo(), Server()
    cargo.leaving = {"a": b"one"}
    proto = message_to_proto(request())
    attach(proto, {"a": b"one"})
    asked = PushMessagesRequest(messages_list=[proto], message_object_trees=[get_object_tree(request())])
    cargo.intercept_unary_unary(server, SimpleNamespace(method=PUSH), asked)
    assert server.got == [{"a": b"one"}]


def test_flower_has_what_it_needs() -> None:
    assert CarriedObjects().missing() == ""
