"""The server's word on how long a site waits: heeded, and bounded."""

from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from pfedgp.site import flower_waits, server_pace
from pfedgp.site.flower_waits import LONG, Waits
from pfedgp.site.server_pace import LONGEST, HeedPace, ServerPace, seconds
from pfedgp_core.wire.names import PAUSE


@pytest.mark.parametrize(
    ("said", "heeded"),
    [("2.500", 2.5), ("1e9", LONGEST), ("-1", 0.0), ("nan", 0.0), ("inf", LONGEST), ("soon", 0.0), (b"\xff", 0.0)],
)
def test_a_pause_is_a_number_up_to_a_minute(said: object, heeded: float) -> None:
    assert seconds(said) == heeded


def answered(code: grpc.StatusCode, metadata: Any) -> float:
    waits = Waits()
    waits.told = 7.0
    call = SimpleNamespace(code=lambda: code, trailing_metadata=lambda: metadata)
    assert HeedPace(waits).intercept_unary_unary(lambda *_: call, None, None) is call
    return waits.told


def test_an_answer_sets_it_and_a_failure_or_another_answer_leaves_it() -> None:
    assert answered(grpc.StatusCode.OK, ((PAUSE, "3"),)) == 3.0
    assert answered(grpc.StatusCode.OK, ()) == 7.0
    assert answered(grpc.StatusCode.OK, None) == 7.0
    assert answered(grpc.StatusCode.UNAVAILABLE, ((PAUSE, "3"),)) == 7.0


def test_a_site_waits_for_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(flower_waits, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=slept.append))
    waits = Waits()
    for told in (0.02, 10.0):
        waits.told = told
        waits.sleep(3)
    assert slept == [LONG, 10.0]


def test_the_connection_gets_the_interceptor_before_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from flwr.client.grpc_rere_client import connection

    made: list[Any] = []
    monkeypatch.setattr(connection, "create_channel", lambda *_, interceptors: made.extend(interceptors))
    ServerPace(Waits()).apply()
    connection.create_channel("address", interceptors=["its own"])
    assert isinstance(made[0], server_pace.HeedPace)
    assert made[1:] == ["its own"]
