"""No site fills the room for objects under way: its replies announce what it sends, and so much of that as is of use.

A reply comes with the tree of its objects' ids, which its site makes. Flower's SuperLink notes whatever the tree names,
until the server app confirms the message, which is then the tree's root. Here a tree with another root, or of more
objects than a model in pieces has, is refused before Flower looks at it, and so is a reply of a site that has as many
under way as one site may have.
"""

import functools
import importlib
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.carried import ids_of

__all__ = ["MOST_PARTS", "SHARE", "BoundedReplies"]

MOST_PARTS = 5_000  # objects of a reply: a model of 20 GB in pieces of 5 MB has 4,000
SHARE = 4 * MOST_PARTS  # under way of one site, which seldom has more than one reply
FEW = 64  # replies of a site that are remembered before those are forgotten that are not under way any more
_SITES = "flwr.server.superlink.fleet.message_handler.message_handler"


class BoundedReplies(Patch):
    """Lets the SuperLink of this process refuse such replies, by a ValueError that Flower logs and answers.

    Parameters
    ----------
    sites : module, optional
        With the answers of the Fleet API; Flower's by default.
    """

    name: ClassVar = "bounded-replies"
    purpose: ClassVar = "no site fills the room that all have for objects under way"
    safety: ClassVar = True

    def __init__(self, sites: Any = None) -> None:
        self._sites = sites

    def missing(self) -> str:
        """What of the SuperLink's answer or of a reply is gone."""
        parts = [lacks(_SITES, "push_messages", {"request", "state"})]
        parts += [lacks("flwr.proto.fleet_pb2", "PushMessagesRequest.MESSAGE_OBJECT_TREES_FIELD_NUMBER")]
        fields = ("MESSAGE_ID", "SRC_NODE_ID")
        parts += [lacks("flwr.proto.message_pb2", f"Metadata.{name}_FIELD_NUMBER") for name in fields]
        parts += [lacks("flwr.supercore.object_store", "ObjectStore.__contains__")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the answer."""
        sites: Any = self._sites or importlib.import_module(_SITES)
        sites.push_messages = _bounded(sites.push_messages)


def _bounded(push: Callable[..., Any]) -> Callable[..., Any]:
    shares = _Shares()

    @functools.wraps(push)
    def push_messages(request: Any, state: Any) -> Any:
        node = request.node.node_id
        if reason := _unfit(request):
            raise ValueError(f"A reply of node {node} is refused: {reason}.")
        (tree,) = request.message_object_trees
        with shares.taking(node, tree.object_id, sum(1 for _ in ids_of(tree)), state.object_store):
            return push(request=request, state=state)

    return push_messages


def _unfit(request: Any) -> str:
    """Why a reply cannot be taken; empty where it can."""
    if len(request.messages_list) != 1 or len(request.message_object_trees) != 1:
        return "it is not one message with one tree"
    about, tree = request.messages_list[0].metadata, request.message_object_trees[0]
    if about.src_node_id != request.node.node_id:
        return "it names another node as its sender"
    if about.message_id != tree.object_id:
        return "the objects that it announces are not its own"
    if next(islice(ids_of(tree), MOST_PARTS, None), None) is not None:
        return f"it has more than {MOST_PARTS} objects"
    return ""


@dataclass
class _Announced:
    """How many objects a reply has, and how many calls announce it just now."""

    size: int
    calls: int = 0


@dataclass
class _Site:
    """The replies of a site that may be under way, by their ids; of how many it is asked whether they are."""

    replies: dict[str, _Announced] = field(default_factory=dict)
    enough: int = FEW

    def is_full(self, reply: str, size: int) -> bool:
        """Whether this reply is too many."""
        return sum(each.size for key, each in self.replies.items() if key != reply) + size > SHARE

    def forget(self, gone: Collection[str]) -> None:
        """Forget replies, of which nothing is under way."""
        for each in gone:
            if each in self.replies and not self.replies[each].calls:
                del self.replies[each]
        self.enough = max(FEW, 2 * len(self.replies))


class _Shares:
    """What each site has under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sites: dict[int, _Site] = {}

    @contextmanager
    def taking(self, node: int, reply: str, size: int, store: Any) -> Iterator[None]:
        """Within this a reply is announced; ValueError where its site has too many objects in the store."""
        with self._lock:
            site = self._sites.setdefault(node, _Site())
            doubtful = list(site.replies) if len(site.replies) >= site.enough or site.is_full(reply, size) else []
        gone = [each for each in doubtful if each not in store]
        with self._lock:
            if doubtful:
                site.forget(gone)
            if site.is_full(reply, size):
                raise ValueError(f"A reply of node {node} is refused: more than {SHARE} objects of it are under way.")
            site.replies.setdefault(reply, _Announced(size)).calls += 1
        try:
            yield
        finally:
            with self._lock:
                site.replies[reply].calls -= 1
