"""Bodies of pushed objects reach Flower's app in one piece; all else, and what is too long, goes on as it comes."""

import asyncio
from typing import Any

import pytest
from flwr.proto.message_pb2 import PushObjectRequest
from flwr.supercore.runtime import RuntimeHttpClient

from pfedgp.processes import whole_bodies
from pfedgp.processes.whole_bodies import PUSH, SuperLinkBodies, SuperNodeBodies, WholeBodies

PIECES = [b"one", b"two", b"three"]


def pushed(path: str, pieces: list[bytes], kind: str = "http", gone_after: int = 10) -> list[dict[str, Any]]:
    """What the app within is given of a request, until its body ends or its caller is gone."""
    seen: list[dict[str, Any]] = []
    events = [
        {"type": "http.request", "body": piece, "more_body": i + 1 < len(pieces)} for i, piece in enumerate(pieces)
    ]
    events[gone_after:] = [{"type": "http.disconnect"}]

    async def receive() -> dict[str, Any]:
        return events.pop(0)

    async def send(event: Any) -> None: ...

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while not seen or seen[-1].get("more_body"):
            seen.append(await receive())

    asyncio.run(WholeBodies(app)({"type": kind, "path": path}, receive, send))
    return seen


def test_a_pushed_object_comes_in_one_piece() -> None:
    assert pushed(PUSH, PIECES) == [{"type": "http.request", "body": b"onetwothree", "more_body": False}]


def test_another_call_is_left_as_it_is() -> None:
    assert [event["body"] for event in pushed("/v1/runtime/pull-messages", PIECES)] == PIECES


def test_what_is_no_request_is_left_as_it_is() -> None:
    assert [event["body"] for event in pushed(PUSH, PIECES, "lifespan")] == PIECES


def test_beyond_the_limit_a_body_goes_on_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_bodies, "LIMIT", 4)
    assert [event["body"] for event in pushed(PUSH, PIECES)] == [b"onetwo", b"three"]


def test_a_caller_that_is_gone_is_told_to_the_app() -> None:
    assert pushed(PUSH, PIECES, gone_after=1) == [{"type": "http.disconnect"}]


@pytest.mark.parametrize("patch", [SuperLinkBodies(), SuperNodeBodies()], ids=lambda patch: patch.name)
def test_the_installed_flower_has_what_it_changes(patch: SuperLinkBodies) -> None:
    assert patch.missing() == ""


def test_flower_pushes_objects_by_the_path_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    called = list[str]()
    client = RuntimeHttpClient("http://127.0.0.1:9")
    monkeypatch.setattr(client, "_unary_unary", lambda path, **_: called.append(path))
    client.PushObject(PushObjectRequest())
    assert called == [PUSH]


def test_a_flower_that_pushes_by_another_path_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_bodies, "PUSH", "/v2/push")
    assert SuperLinkBodies().missing().endswith("has no path /v2/push")
