"""Objects that the announcement of a message carries along, so that they need no calls of their own.

Flower sends a message in parts: its announcement with the tree of its objects' ids, then each object by a call. Of a
small model a message has three objects, and calls are nearly all that it costs. So whoever announces a message puts
those of its objects that are small into a record of the announcement's content, which Flower leaves empty. The ids are
the objects' hashes: who takes them in checks them as it does those of calls. A side that does not know of the record
leaves it alone, and its objects are sent as ever.

Nothing here imports Flower: a message and a tree are of the protocol's kinds, whose fields are named alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = [
    "FILED",
    "LARGEST",
    "MOST",
    "OBJECTS_FOLDER",
    "WANTED",
    "attach",
    "detach",
    "fitting",
    "fitting_ids",
    "ids_of",
]

RECORD = "pfedgp.objects"
WANTED = RECORD  # in a site's look for messages, whose list of ids Flower leaves empty: it takes objects with them
LARGEST, MOST = 9 * 2**19, 2**23  # bytes of one object, less than a piece of a large array has; of all in one call
OBJECTS_FOLDER = "PFEDGP_OBJECTS"  # variable of the environment: where a server app and its SuperLink lay files
FILED = b"\0pfedgp: this object is a file"  # in the place of its content, see pfedgp_core.files.object_files


def ids_of(tree: Any) -> Iterator[str]:
    """Ids of a tree's objects, from the message down to what is large."""
    yield tree.object_id
    for child in tree.children:
        yield from ids_of(child)


def fitting(contents: Mapping[str, bytes], room: int = MOST) -> dict[str, bytes]:
    """Those of some objects that are there and small, and together have at most `room` bytes."""
    return {each: contents[each] for each in fitting_ids({key: len(each) for key, each in contents.items()}, room)}


def fitting_ids(sizes: Mapping[str, int], room: int = MOST) -> list[str]:
    """The ids of these, by the bytes that each object has; 0 where it is not there."""
    chosen = []
    for object_id, size in sizes.items():
        if 0 < size <= min(LARGEST, room):
            chosen.append(object_id)
            room -= size
    return chosen


def attach(message: Any, contents: Mapping[str, bytes]) -> None:
    """Let an announced message carry objects; an error has no content, and carries none."""
    if not contents or message.HasField("error"):
        return
    record = message.content.items.add(key=RECORD).config_record
    for object_id, content in contents.items():
        record.items.add(key=object_id).value.bytes = content


def detach(message: Any) -> dict[str, bytes]:
    """Take the objects that an announced message carries out of it."""
    found: dict[str, bytes] = {}
    if message.HasField("content"):
        for place in reversed(range(len(message.content.items))):
            item = message.content.items[place]
            if item.key == RECORD:
                found |= {each.key: each.value.bytes for each in item.config_record.items}
                del message.content.items[place]
    return found
