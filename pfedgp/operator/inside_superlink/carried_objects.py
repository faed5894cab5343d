"""Objects come and go with the messages that they belong to: Flower's SuperLink takes and gives each by a call.

A call costs the SuperLink a connection's layers, the check of a key or token, and some queries. See
`pfedgp_core.wire.carried` for how objects are carried; sites and server apps that do not ask for it are answered as
ever. What is taken in goes through Flower's own checks: it is stored where a message has announced it, under the hash
that it has.
"""

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, ClassVar

from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.carried import FILED, MOST, WANTED, attach, detach, fitting, fitting_ids, ids_of

__all__ = ["CarriedObjects"]

CARRIED = 900  # objects of a message that are carried, fewer than the variables that any SQLite takes
_SITES = "flwr.server.superlink.fleet.message_handler.message_handler"
_APPS = "flwr.superlink.servicer.runtime.runtime_handlers"
_STATE = "flwr.server.superlink.linkstate"
_HASH = "flwr.supercore.inflatable.inflatable_object"
_OBJECTS = "flwr.supercore.state.schema.objectstore_models"
_RECORDS = "flwr.proto.recorddict_pb2"


class CarriedObjects(Patch):
    """Lets the SuperLink of this process take objects with messages, and give them so to who asks for it.

    Parameters
    ----------
    sites, apps : module, optional
        With the answers of the Fleet API and of the Runtime API; Flower's by default.
    """

    name: ClassVar = "carried-objects"
    purpose: ClassVar = "the objects of a small message come and go with it, in one call"

    def __init__(self, sites: Any = None, apps: Any = None) -> None:
        self._sites, self._apps = sites, apps

    def missing(self) -> str:
        """What of the SuperLink's answers, of its state or of messages is gone."""
        parts = [lacks(_SITES, "pull_messages", {"request", "state", "store"})]
        parts += [lacks(_SITES, "push_messages", {"request", "state"})]
        parts += [lacks(_APPS, name, {"request", "state", "task"}) for name in ("pull_messages", "push_messages")]
        parts += [lacks(_STATE, "LinkState.store_object", {"run_id", "session_id", "object_id", "object_content"})]
        parts += [lacks(_STATE, "LinkState.store_traffic", {"run_id", "bytes_sent", "bytes_recv"})]
        parts += [lacks(_OBJECTS, f"StoredObject.{name}") for name in ("object_id", "content")]
        parts += [lacks(_HASH, "get_object_id"), lacks(_RECORDS, "ConfigRecordValue.BYTES_FIELD_NUMBER")]
        parts += [lacks("flwr.proto.fleet_pb2", "PullMessagesRequest.MESSAGE_IDS_FIELD_NUMBER")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the four answers."""
        sites: Any = self._sites or importlib.import_module(_SITES)
        apps: Any = self._apps or importlib.import_module(_APPS)
        ways: dict[int, bool] = {}  # runs whose server app sends objects so, and gets them so: whether it sends files
        sites.pull_messages, sites.push_messages = _to_site(sites.pull_messages), _from_site(sites.push_messages)
        apps.pull_messages = _to_app(apps.pull_messages, ways)
        apps.push_messages = _from_app(apps.push_messages, ways)


def _to_site(pull: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(pull)
    def pull_messages(request: Any, state: Any, store: Any) -> Any:
        answer = pull(request=request, state=state, store=store)
        if WANTED in request.message_ids:
            for message, sent in _give(answer, state, store):
                _count(state, message.metadata.run_id, sent=sent)
        return answer

    return pull_messages


def _from_site(push: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(push)
    def push_messages(request: Any, state: Any) -> Any:
        carried = _carried(request.messages_list)
        answer = push(request=request, state=state)
        if carried:
            run = request.messages_list[0].metadata.run_id
            _count(state, run, received=_take(answer, state, run, carried))
        return answer

    return push_messages


def _to_app(pull: Callable[..., Any], ways: dict[int, bool]) -> Callable[..., Any]:
    @functools.wraps(pull)
    def pull_messages(request: Any, state: Any, task: Any) -> Any:
        answer = pull(request=request, state=state, task=task)
        if task.run_id in ways:
            _give(answer, state, state.object_store, files=ways[task.run_id])
        return answer

    return pull_messages


def _from_app(push: Callable[..., Any], ways: dict[int, bool]) -> Callable[..., Any]:
    @functools.wraps(push)
    def push_messages(request: Any, state: Any, task: Any) -> Any:
        carried = _carried(request.messages_list)
        answer = push(request=request, state=state, task=task)
        if carried:
            ways[task.run_id] = ways.get(task.run_id, False) or FILED in carried.values()
            _take(answer, state, task.run_id, carried, files=True)
        return answer

    return push_messages


def _carried(messages: Iterable[Any]) -> dict[str, bytes]:
    return {object_id: content for message in messages for object_id, content in detach(message).items()}


def _give(answer: Any, state: Any, store: Any, files: bool = False) -> list[tuple[Any, int]]:
    """Let the messages of an answer carry their objects, or the word that these are files; each with its bytes."""
    given, room = [], MOST
    with _transaction(state) if answer.messages_list else nullcontext():
        for message, tree in zip(answer.messages_list, answer.message_object_trees, strict=True):
            found = _contents(store, list(dict.fromkeys(islice(ids_of(tree), CARRIED + 1))), room)
            contents = fitting({key: each for key, each in found.items() if files or each != FILED}, room)
            attach(message, contents)
            size = sum(map(len, contents.values()))
            room -= size
            given.append((message, size))
    return given


def _contents(store: Any, ids: list[str], room: int) -> dict[str, bytes]:
    """What a store has for these objects, where it is small, in the order of the ids; no more than `room` bytes.

    A site makes the tree of its replies. One of more than `CARRIED` objects costs no query: its objects go by calls.
    """
    if len(ids) > CARRIED:
        return {}
    if hasattr(store, "fitting"):  # `KeptObjects`
        found: dict[str, bytes] = store.fitting(ids, room)
    elif hasattr(store, "session"):
        from flwr.supercore.state.schema.objectstore_models import StoredObject
        from sqlalchemy import func, select

        size = func.length(StoredObject.content)
        with store.session() as session:
            there = dict(
                session.execute(select(StoredObject.object_id, size).where(StoredObject.object_id.in_(ids))).all()
            )
            small = fitting_ids({each: there.get(each, 0) for each in ids}, room)
            wanted = select(StoredObject.object_id, StoredObject.content).where(StoredObject.object_id.in_(small))
            found = dict(session.execute(wanted).all())
    else:
        get = type(store).get
        get = getattr(get, "__wrapped__", get)  # which reads no files
        found = {object_id: get(store, object_id) or b"" for object_id in ids}
    return {each: found[each] for each in ids if each in found}


def _take(answer: Any, state: Any, run: int, carried: Mapping[str, bytes], files: bool = False) -> int:
    """Store what was carried and is asked for, which then is asked for no more; how many bytes that is."""
    from flwr.supercore.inflatable.inflatable_object import get_object_id

    def is_sound(object_id: str) -> bool:
        content = carried.get(object_id, b"")
        return content == FILED if files and len(content) == len(FILED) else get_object_id(content) == object_id

    def store(object_id: str) -> bool:
        return bool(state.store_object(run, answer.session_id, object_id, carried[object_id]))

    # What fails within a transaction of several is not undone by itself: so it gets nothing that will be refused.
    sound = list(filter(is_sound, answer.objects_to_push))
    with _transaction(state):
        stored = set(filter(store, sound[:-1]))
    # Whoever waits for the message looks as soon as its last object is stored, and has to find the others then.
    stored |= set(filter(store, sound[-1:]))
    left = [each for each in answer.objects_to_push if each not in stored]
    for unasked in {each for each in carried if files and carried[each] == FILED} - set(answer.objects_to_push):
        store(unasked)  # which takes the offer of it away
    del answer.objects_to_push[:]
    answer.objects_to_push.extend(left)
    return sum(len(carried[each]) for each in stored)


def _transaction(state: Any) -> AbstractContextManager[Any]:
    """One for all queries within, where the state is a database."""
    session: AbstractContextManager[Any] = state.session() if hasattr(state, "session") else nullcontext()
    return session


def _count(state: Any, run: int, *, sent: int = 0, received: int = 0) -> None:
    if sent or received:
        state.store_traffic(run, bytes_sent=sent, bytes_recv=received)
