"""A mock site: one key, one connection, and the calls of a SuperNode."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import grpc
from flwr.app import Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.client.grpc_rere_client.node_auth_client_interceptor import NodeAuthClientInterceptor
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.fleet_pb2 import ActivateNodeRequest, PullMessagesRequest, PushMessagesRequest
from flwr.proto.fleet_pb2_grpc import FleetStub
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.node_pb2 import Node
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree, iterate_object_tree
from flwr.supercore.inflatable.inflatable_protobuf_utils import (
    make_confirm_message_received_fn_protobuf,
    make_pull_object_fn_protobuf,
    make_push_object_fn_protobuf,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents, pull_objects
from flwr.supercore.interceptors import RuntimeVersionClientInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.task_identity import TaskIdentity

from mock_fleet.answers import content_of
from pfedgp.site.carried_objects import Cargo
from pfedgp.site.flower_waits import LINGER, LONG, SHORT
from pfedgp_core.files.keys import read_site_key
from pfedgp_core.wire.carried import fitting
from pfedgp_core.wire.names import PAUSE

__all__ = ["MockSite"]

HEARTBEAT = 30.0  # seconds
UNPACED = "MOCK_FLEET_UNPACED" in os.environ  # sites of before the server told a pace
PATIENCE = 120.0  # seconds of a call
_identity = threading.Lock()  # Flower keeps one identity for a process, which makes messages


class MockSite:
    """A site that is connected.

    Parameters
    ----------
    name : str
    address : str
        HOST:PORT of the Fleet port.
    certificate : bytes
        Of the authority.
    key : Path
        Its private key.
    """

    def __init__(self, name: str, address: str, certificate: bytes, key: Path) -> None:
        self.name, self.calls, self.answered = name, 0, 0
        secret = read_site_key(key)
        self._public = public_key_to_bytes(secret.public_key())
        self._cargo = Cargo()
        interceptors = (
            self._cargo,
            RuntimeVersionClientInterceptor(component_name="SuperNode"),
            NodeAuthClientInterceptor(secret, secret.public_key()),
        )
        options = (("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1))
        channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(certificate), options)
        self._stub = FleetStub(grpc.intercept_channel(channel, *interceptors))
        self._node = Node()
        self._heard, self._asked = 0.0, float("-inf")

    def connect(self) -> None:
        """Activate the node."""
        request = ActivateNodeRequest(public_key=self._public, heartbeat_interval=HEARTBEAT)
        self._node = Node(node_id=self._stub.ActivateNode(request, timeout=PATIENCE).node_id)
        self._heard = time.monotonic()

    def look(self) -> float:
        """Look for a message and answer it; the seconds until the next look."""
        now = time.monotonic()
        if now - self._heard > HEARTBEAT / 2:
            self._stub.SendNodeHeartbeat(
                SendNodeHeartbeatRequest(node=self._node, heartbeat_interval=HEARTBEAT), timeout=PATIENCE
            )
            self._heard, self.calls = now, self.calls + 1
        found, call = self._stub.PullMessages.with_call(PullMessagesRequest(node=self._node), timeout=PATIENCE)
        self.calls += 1
        if found.messages_list:
            self._answer(message_from_proto(found.messages_list[0]), found.message_object_trees[0])
            self._asked = time.monotonic()
        told = 0.0 if UNPACED else float(dict(call.trailing_metadata() or ()).get(PAUSE, 0.0))
        return max(SHORT if time.monotonic() - self._asked < LINGER else LONG, told)

    def _answer(self, message: Message, tree: Any) -> None:
        run = message.metadata.run_id
        pull = make_pull_object_fn_protobuf(self._stub.PullObject, self._node, run)
        # The server announces a message before it has all of it.
        wanted, contents = dict.fromkeys(one.object_id for one in iterate_object_tree(tree)), self._cargo.arrived
        missing = [each for each in wanted if each not in contents]
        contents = contents | pull_objects(missing, pull, max_concurrent_pulls=1)
        confirm = make_confirm_message_received_fn_protobuf(self._stub.ConfirmMessageReceived, self._node, run)
        confirm(tree.object_id)
        whole = inflate_object_from_contents(tree.object_id, contents)
        assert isinstance(whole, Message)
        whole.metadata.__dict__["_message_id"] = message.metadata.message_id
        content = content_of(self.name, whole)
        if content is not None:
            self._push(whole, content)
        self.calls += len(missing) + 1
        self.answered += 1

    def _push(self, message: Message, content: RecordDict) -> None:
        with _identity:
            TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = (
                1,
                message.metadata.run_id,
                self._node.node_id,
            )
            reply = Message(content, reply_to=message)
        reply.metadata.__dict__["_message_id"] = reply.object_id
        objects = get_all_nested_objects(reply)
        request = PushMessagesRequest(
            node=self._node,
            messages_list=[message_to_proto(remove_content_from_message(reply))],
            message_object_trees=[get_object_tree(reply)],
            clientapp_runtime_list=[0.0],
        )
        contents = {each: one.deflate() for each, one in objects.items()}
        self._cargo.leaving = fitting(contents) if self._cargo.known else {}
        answer = self._stub.PushMessages(request, timeout=PATIENCE)
        push = make_push_object_fn_protobuf(
            self._stub.PushObject, self._node, message.metadata.run_id, answer.session_id
        )
        for one in answer.objects_to_push:
            push(one, contents[one])
        self.calls += len(answer.objects_to_push) + 1
