"""Looks for messages that the SuperLink holds until there is one, for half a second at most.

Sites and server apps ask for messages again and again, and nine looks of ten find none. Each costs the server the check
of a key or token and a query, and a message waits for the next look. A look that finds nothing waits here instead, and
looks once more when a message has arrived whole. A site for which nothing has been stored since its last look hears so
without a query. What this process has not seen arriving is found by a later look.
"""

import functools
import importlib
import inspect
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from pfedgp.operator.inside_superlink.news import News
from pfedgp.operator.inside_superlink.quiet_sites import QuietSites
from pfedgp_core.patch import Patch, lacks

__all__ = ["HOLD", "HeldLooks"]

HOLD = 0.5  # seconds
SITES, APPS = 24, 8  # looks held at a time: each takes a thread, of a thousand for sites and forty for server apps
_SITES = "flwr.server.superlink.fleet.message_handler.message_handler"
_APPS = "flwr.superlink.servicer.runtime.runtime_handlers"
_STATES = "flwr.server.superlink.linkstate"
_KINDS = ("InMemoryLinkState", "SqlLinkState")


class HeldLooks(Patch):
    """Lets the SuperLink of this process hold looks; applied after whatever else changes them.

    Parameters
    ----------
    sites, apps : module, optional
        With the answers of the Fleet API and of the Runtime API; Flower's by default.
    """

    name: ClassVar = "held-looks"
    purpose: ClassVar = "a message goes on at once, and who waits for one asks twice a second"

    def __init__(self, sites: Any = None, apps: Any = None) -> None:
        self._sites, self._apps = sites, apps

    def missing(self) -> str:
        """What of the SuperLink's answers and of its state is gone."""
        parts = [lacks(_SITES, "pull_messages", {"request", "state", "store"})]
        parts += [lacks(_APPS, "pull_messages", {"request", "state", "task"})]
        for kind in _KINDS:
            parts += [lacks(_STATES, f"{kind}.store_message_and_object_tree", {"message", "object_tree", "session_id"})]
            parts += [lacks(_STATES, f"{kind}.store_object", {"object_id"})]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the two answers, and hear what the states store."""
        sites: Any = self._sites or importlib.import_module(_SITES)
        apps: Any = self._apps or importlib.import_module(_APPS)
        states, news = importlib.import_module(_STATES), News()
        for kind in _KINDS:
            _hear(getattr(states, kind), news)
        looked = _quiet(sites.pull_messages, news)
        sites.pull_messages = _held(looked, news, SITES, lambda request, *_: _of_site(request.node.node_id))
        apps.pull_messages = _held(apps.pull_messages, news, APPS, lambda _, __, task: _of_run(task.run_id))


def _of_site(node_id: int) -> str:
    return f"site {node_id}"


def _of_run(run_id: int) -> str:
    return f"run {run_id}"


def _quiet(look: Callable[..., Any], news: News) -> Callable[..., Any]:
    """The answer to a site's look, without a query where nothing has been stored for it since the last one."""
    quiet = QuietSites()

    @functools.wraps(look)
    def quick(request: Any, state: Any, store: Any) -> Any:
        who = _of_site(request.node.node_id)
        stirred = news.stirred(who)
        answer = quiet.answer(who, stirred)
        if answer is None:
            answer = look(request, state, store)
            if not answer.messages_list:
                quiet.keep(who, stirred, answer)
        return answer

    return quick


def _held(look: Callable[..., Any], news: News, most: int, whose: Callable[..., str]) -> Callable[..., Any]:
    """The answer to a look, which waits where it finds nothing."""
    seats, bind = threading.BoundedSemaphore(most), inspect.signature(look).bind

    @functools.wraps(look)
    def held(*given: Any, **named: Any) -> Any:
        asked = bind(*given, **named).arguments
        who = whose(*asked.values())
        former = news.count(who)
        answer = look(**asked)
        if answer.messages_list or not seats.acquire(blocking=False):
            return answer
        try:
            arrived = news.wait(who, former, HOLD)
        finally:
            seats.release()
        return look(**asked) if arrived else answer

    return held


def _hear(state: Any, news: News) -> None:
    """Tell the news of what a kind of state stores."""
    announce, keep = state.store_message_and_object_tree, state.store_object

    @functools.wraps(announce)
    def store_message_and_object_tree(self: Any, message: Any, object_tree: Any, session_id: str) -> Any:
        stored, lacking = announce(self, message, object_tree, session_id)
        if stored:
            about = message.metadata
            reply = bool(about.reply_to_message_id)
            news.announce(_of_run(about.run_id) if reply else _of_site(about.dst_node_id), lacking)
        return stored, lacking

    @functools.wraps(keep)
    def store_object(self: Any, run_id: int, session_id: str, object_id: str, *content: Any, **named: Any) -> Any:
        stored = keep(self, run_id, session_id, object_id, *content, **named)
        if stored:
            news.stored(object_id)
        return stored

    state.store_message_and_object_tree, state.store_object = store_message_and_object_tree, store_object
