"""A site announces its own message's objects, and no more than it may have under way."""

from typing import Any

import pytest
from flwr.app import Message
from flwr.proto.fleet_pb2 import PushMessagesRequest
from flwr.proto.message_pb2 import ObjectTree
from flwr.proto.node_pb2 import Node

from pfedgp.operator.inside_superlink import bounded_replies
from pfedgp.operator.inside_superlink.bounded_replies import MOST_PARTS, SHARE, BoundedReplies
from pfedgp.operator.inside_superlink.kept_store import MOST_OBJECTS
from tests.pfedgp.operator.inside_superlink.test_carried_objects import (
    SuperLink,
    announced,
    contents_of,
    reply_to,
    request_to,
    tree,
)


class Bounded(SuperLink):
    """One that bounds replies too."""

    def __init__(self, database: str) -> None:
        super().__init__(database)
        BoundedReplies(self.handler).apply()

    def asked(self, run: int, node: int, value: int = 1) -> Message:
        """A request that a site was given; the reply to it."""
        request = request_to(run, node, value)
        self.send(run, request, contents_of(request))
        self.look(node)
        return reply_to(request)

    def push(self, node: int, reply: Message, *trees: ObjectTree) -> list[str]:
        """Let a site announce a reply with trees of its own making; the ids that it is asked for."""
        pushed = PushMessagesRequest(
            node=Node(node_id=node), messages_list=[announced(reply, {})], message_object_trees=trees
        )
        return list(self.handler.push_messages(request=pushed, state=self.state).objects_to_push)


def wide(root: str, size: int, first: int = 0) -> ObjectTree:
    """A tree of so many objects that nobody will send."""
    parts = [ObjectTree(object_id=f"{first + each:064x}") for each in range(size - 1)]
    return ObjectTree(object_id=root, children=parts)


def id_of(message: Message) -> str:
    return str(message.metadata.message_id)


@pytest.mark.slow
def test_a_tree_that_is_not_the_message_s_own_is_refused_and_leaves_nothing(database: str) -> None:
    link = Bounded(database)
    run, node, other = link.start_run(), link.register(b"a"), link.register(b"b")
    reply = link.asked(run, node)
    before, own = len(link.store), tree(reply)
    unfit: list[tuple[str, Any]] = [
        ("are not its own", [wide("f" * 64, 3)]),
        ("not one message with one tree", []),
        ("not one message with one tree", [own, own]),
        (f"more than {MOST_PARTS} objects", [wide(id_of(reply), MOST_PARTS + 1)]),
    ]
    for told, trees in unfit:
        with pytest.raises(ValueError, match=rf"^A reply of node {node} is refused: .*{told}"):
            link.push(node, reply, *trees)
    with pytest.raises(ValueError, match=rf"^A reply of node {other} is refused: it names another node"):
        link.push(other, reply, own)
    assert len(link.store) == before
    assert link.state.num_message_res() == 0
    assert link.reply(node, reply, contents_of(reply)) == []
    assert link.fetch(run, reply.metadata.reply_to_message_id) == contents_of(reply)


def test_a_deep_tree_is_counted_too(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_replies, "MOST_PARTS", 50)
    link = Bounded(database)
    run, node = link.start_run(), link.register(b"a")
    reply = link.asked(run, node)
    deep = ObjectTree(object_id=f"{0:064x}")
    for each in range(1, 50):
        deep = ObjectTree(object_id=f"{each:064x}", children=[deep])
    with pytest.raises(ValueError, match="more than 50 objects"):
        link.push(node, reply, ObjectTree(object_id=id_of(reply), children=[deep]))


@pytest.mark.slow
def test_one_site_cannot_take_what_others_need(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_replies, "SHARE", 50)
    link = Bounded(database)
    run, hostile, honest = link.start_run(), link.register(b"a"), link.register(b"b")
    for value in range(2):
        reply = link.asked(run, hostile, value)
        assert len(link.push(hostile, reply, wide(id_of(reply), 20, 100 * value))) == 20
        assert len(link.push(hostile, reply, wide(id_of(reply), 20, 100 * value))) == 20  # its next try of the same
    reply = link.asked(run, hostile, 2)
    before = len(link.store)
    with pytest.raises(ValueError, match=rf"^A reply of node {hostile} .*more than 50 objects of it are under way"):
        link.push(hostile, reply, wide(id_of(reply), 20, 1000))
    assert len(link.store) == before
    for value in range(3, 30):  # more than a share in all, and each is received
        reply = link.asked(run, honest, value)
        assert link.reply(honest, reply, contents_of(reply)) == []
        link.received(run, id_of(reply))
        link.confirm(run, reply.metadata.reply_to_message_id)
    link.state.cleanup_run(run)  # and so may the other one, once its own are gone
    run = link.start_run()
    reply = link.asked(run, hostile, 99)
    assert link.push(hostile, reply, tree(reply)) == list(contents_of(reply))


def test_replies_that_were_received_are_forgotten(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_replies, "FEW", 2)
    site = bounded_replies._Site(enough=2)
    monkeypatch.setattr(bounded_replies, "_Site", lambda: site)
    link = Bounded(database)
    run, node = link.start_run(), link.register(b"a")
    for value in range(7):
        reply = link.asked(run, node, value)
        link.reply(node, reply, contents_of(reply))
        if value != 1:
            link.received(run, id_of(reply))
        link.confirm(run, reply.metadata.reply_to_message_id)
    assert len(site.replies) <= 2 * 2
    assert sum(each in link.store for each in site.replies) == 1


def test_many_shares_fit_and_the_largest_model_does() -> None:
    assert 20 * SHARE <= MOST_OBJECTS
    assert MOST_PARTS > 4000


def test_flower_has_what_it_needs() -> None:
    assert BoundedReplies().missing() == ""
