"""The guard of the Fleet port, around Flower's own Fleet server: who is read, who is refused, and in whose words."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.proto.fleet_pb2 import (
    ActivateNodeRequest,
    PullMessagesRequest,
    PushMessagesRequest,
    RegisterNodeFleetRequest,
)
from flwr.proto.fleet_pb2_grpc import FleetStub
from flwr.proto.message_pb2 import Message, Metadata, ObjectTree, PushObjectRequest
from flwr.proto.node_pb2 import Node
from flwr.server.superlink.fleet.message_handler import message_handler
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from pfedgp.operator.inside_superlink.bounded_replies import BoundedReplies
from pfedgp.operator.inside_superlink.fleet_guard import LONGEST_MESSAGE, FleetGuard, KeyFirst
from pfedgp.processes.flower import free_ports
from pfedgp_core.wire.names import PAUSE
from tests.deploy.strangers import signed

Key = ec.EllipticCurvePrivateKey
BLOCK = 2**20


@dataclass
class Fleet:
    """A Fleet server that knows two keys, and a client of it."""

    known: Key
    other: Key
    nodes: tuple[int, int]
    stub: FleetStub

    def refused(self, method: str, request: Any, metadata: Any) -> tuple[str, str]:
        """Status and details of a call that must not succeed."""
        with pytest.raises(grpc.RpcError) as caught:
            getattr(self.stub, method)(request, metadata=metadata, timeout=20.0)
        return caught.value.code().name, caught.value.details()


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID
    from flwr.server.superlink.fleet.grpc_rere.node_auth_server_interceptor import NodeAuthServerInterceptor
    from flwr.server.superlink.linkstate import LinkStateFactory
    from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.superlink.federation import NoOpFederationManager

    superlink = importlib.import_module("flwr.superlink.cli.flower_superlink")
    for module, name in (
        (superlink, "generic_create_grpc_server"),
        (importlib.import_module("flwr.supercore.grpc"), "grpc"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))  # back to Flower's own afterwards
    FleetGuard(20).apply()
    objects = ObjectStoreFactory(FLWR_IN_MEMORY_DB_NAME)
    state = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), objects)
    keys = [ec.generate_private_key(ec.SECP384R1()) for _ in range(2)]
    nodes = [
        state.state().create_node(NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, public_key_to_bytes(key.public_key()), 0)
        for key in keys
    ]
    address = f"127.0.0.1:{free_ports(1)[0]}"
    server = superlink._run_fleet_api_grpc_rere(address, state, objects, True, None, [NodeAuthServerInterceptor(state)])
    with grpc.insecure_channel(address, (("grpc.max_send_message_length", -1),)) as channel:
        yield Fleet(keys[0], keys[1], (nodes[0], nodes[1]), FleetStub(channel))
    server.stop(None).wait()


def activation(key: Key, interval: float = 30.0) -> ActivateNodeRequest:
    return ActivateNodeRequest(public_key=public_key_to_bytes(key.public_key()), heartbeat_interval=interval)


def pull(node: int) -> PullMessagesRequest:
    return PullMessagesRequest(node=Node(node_id=node))


def test_a_registered_key_activates_its_node_and_is_read(fleet: Fleet) -> None:
    answer = fleet.stub.ActivateNode(activation(fleet.known), metadata=signed(fleet.known), timeout=20.0)
    assert answer.node_id == fleet.nodes[0]
    messages = fleet.stub.PullMessages(pull(fleet.nodes[0]), metadata=signed(fleet.known), timeout=20.0)
    assert len(messages.messages_list) == 0


def test_a_site_hears_when_to_look_again_and_a_stranger_hears_nothing(fleet: Fleet) -> None:
    fleet.stub.ActivateNode(activation(fleet.known), metadata=signed(fleet.known), timeout=20.0)
    _, call = fleet.stub.PullMessages.with_call(pull(fleet.nodes[0]), metadata=signed(fleet.known), timeout=20.0)
    assert dict(call.trailing_metadata())[PAUSE] == "0.010"
    with pytest.raises(grpc.RpcError) as caught:
        stranger = ec.generate_private_key(ec.SECP384R1())
        fleet.stub.PullMessages(pull(fleet.nodes[0]), metadata=signed(stranger), timeout=20.0)
    assert PAUSE not in dict(caught.value.trailing_metadata())


def test_another_key_activates_no_node(fleet: Fleet) -> None:
    for key in (fleet.other, ec.generate_private_key(ec.SECP384R1())):
        _, details = fleet.refused("ActivateNode", activation(fleet.known), signed(key))
        assert '"code":2004' in details.replace(" ", "")
    # The victim itself is let in afterwards.
    assert fleet.stub.ActivateNode(activation(fleet.known), metadata=signed(fleet.known), timeout=20.0).node_id


def test_an_unknown_key_hears_what_flower_says(fleet: Fleet) -> None:
    stranger = ec.generate_private_key(ec.SECP384R1())
    assert fleet.refused("PullMessages", pull(fleet.nodes[0]), signed(stranger)) == (
        "UNAUTHENTICATED",
        "Invalid node ID",
    )
    _, details = fleet.refused("ActivateNode", activation(stranger, 0.0), signed(stranger))
    assert '"code":2004' in details.replace(" ", "")
    _, details = fleet.refused("RegisterNode", RegisterNodeFleetRequest(public_key=b"x"), signed(stranger))
    assert '"code":2001' in details.replace(" ", "")


def test_what_is_no_key_or_no_signature_is_refused_in_order(fleet: Fleet) -> None:
    request, metadata = pull(0), dict(signed(fleet.known))
    assert fleet.refused("PullMessages", request, ()) == ("UNAUTHENTICATED", "Missing authentication metadata")
    for name, value in metadata.items():
        broken = metadata | {name: b"x" if isinstance(value, bytes) else "yesterday"}
        status, details = fleet.refused("PullMessages", request, tuple(broken.items()))
        assert status == "UNAUTHENTICATED"
        assert details in ("Unreadable authentication metadata", "Invalid signature")
    late = signed(fleet.known, datetime.now(UTC) - timedelta(hours=1))
    assert fleet.refused("PullMessages", request, late) == ("UNAUTHENTICATED", "Invalid timestamp")


def test_a_message_is_as_long_as_a_piece_of_a_model_may_be(fleet: Fleet) -> None:
    def push(size: int) -> tuple[str, str]:
        request = PushObjectRequest(node=Node(node_id=fleet.nodes[1]), object_content=bytes(size))
        return fleet.refused("PushObject", request, signed(fleet.known))

    assert push(6 * BLOCK) == ("UNAUTHENTICATED", "Invalid node ID")  # it was read: it names another node
    assert push(LONGEST_MESSAGE + BLOCK)[0] == "RESOURCE_EXHAUSTED"


def test_a_reply_that_announces_other_objects_is_refused_and_the_log_names_its_node(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(message_handler, "push_messages", message_handler.push_messages)
    BoundedReplies().apply()
    (node, _), about = fleet.nodes, Metadata(message_id="a" * 64, src_node_id=fleet.nodes[0])
    reply = PushMessagesRequest(
        node=Node(node_id=node),
        messages_list=[Message(metadata=about)],
        message_object_trees=[ObjectTree(object_id="f" * 64)],
    )
    assert fleet.refused("PushMessages", reply, signed(fleet.known)) == ("INTERNAL", "Internal server error.")
    assert f"A reply of node {node} is refused: the objects that it announces are not its own." in caplog.text


class Refused(Exception):
    """What the end of a call raises."""


class Context:
    def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise Refused(code.name, details)

    def set_trailing_metadata(self, metadata: Any) -> None:
        return


def test_no_message_is_asked_for_before_the_key_is_known() -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("a message was read")
        yield b""

    @dataclass
    class Details:
        method: str
        invocation_metadata: Any

    def handler(request: Any, _: Context) -> str:
        return f"heard {request!r}"

    def continuation(_: Details) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            handler, request_deserializer=lambda content: content, response_serializer=str.encode
        )

    details = Details("/flwr.proto.Fleet/PullMessages", signed())
    made = KeyFirst(lambda _: False).intercept_service(continuation, details)
    assert made.request_streaming  # of other handlers gRPC reads the message first
    assert made.stream_unary(never(), Context()) == b"heard b''"
    known = KeyFirst(lambda _: True).intercept_service(continuation, details)
    assert known.stream_unary(iter([b"x"]), Context()) == b"heard b'x'"
    with pytest.raises(Refused, match="INVALID_ARGUMENT"):
        known.stream_unary(iter([]), Context())
