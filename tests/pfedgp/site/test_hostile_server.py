"""A hostile server's attempts to get past a site's policy, and a hostile app's: nothing but refusals leaves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.wire.layout import pack
from pfedgp_core.wire.names import ARRAYS, CONFIG, SETTINGS, SHARED
from server.flower.messages import Packed, request, request_config
from tests.client.site_requests import OWN, SPEC_OF_DIGITS, THETA
from tests.pfedgp.site.gated import GatedSite, refused
from tests.wire_parts import metrics_in

POLICY = """
methods = ["pfedgp"]
networks = ["auto"]
max-update-norm = 1000.0
max-updates = 3
min-samples = 20
min-cell = 2
hours = ["Mon-Fri 08:00-18:00"]
"""
Attempt = Callable[[GatedSite], Message]
flat = OWN.to_run_config()


def settings(text: Any) -> Attempt:
    def send(site: GatedSite) -> Message:
        config = request_config(OWN, 1, spec=SPEC_OF_DIGITS)
        config[SETTINGS] = text
        return site.send(request("train", 9, config, Packed(THETA), 60.0))

    return send


def other(kind: str = "train", **changes: Any) -> Attempt:
    return lambda site: site.ask(kind, OWN.replace(**changes))


def raw(kind: str, content: RecordDict) -> Attempt:
    return lambda site: site.send(Message(content, 9, kind, ttl=60.0))


def again(site: GatedSite) -> Message:
    for _ in range(3):
        assert not site.ask("train").has_error()
    return site.ask("train")


def at_night(site: GatedSite) -> Message:
    site.now = site.now.replace(hour=23)
    return site.ask("train")


def array_of(values: np.ndarray) -> Attempt:
    def send(site: GatedSite) -> Message:
        message = request("train", 9, request_config(OWN, 1, spec=SPEC_OF_DIGITS), None, 60.0)
        message.content[ARRAYS] = ArrayRecord({SHARED: Array(values)})
        return site.send(message)

    return send


SERVER: dict[str, Attempt] = {
    "another seed of an approved run": other(seed=1),
    "one round more": other(rounds=OWN.rounds + 1),
    "less noise than approved is another run": other(dp_noise=0.1),
    "another network": other(network="lenet"),
    "another method": other(method="fedavg"),
    "code as a method": other(method="os:system"),
    "code as a network": other(network="subprocess:run"),
    "a greeting of a run that is not approved": other("query.hello", seed=1),
    "an evaluation of one": other("evaluate", seed=1),
    "an approved run with a key more": settings(json.dumps(flat | {"seed ": 1})),
    "a key twice": settings(json.dumps(flat)[:-1] + ', "seed": 7}'),
    "settings that are no JSON": settings("{"),
    "settings that are a list": settings("[]"),
    "settings nested deep": settings('{"seed":' * 1000 + "1" + "}" * 1000),
    "settings that are a number": settings(7),
    "settings that are bytes": settings(b"{}"),
    "empty settings": settings("{}"),
    "round 0": lambda site: site.ask("train", round=0),
    "a round after the last": lambda site: site.ask("train", round=OWN.rounds + 1),
    "a round below 0": lambda site: site.ask("train", round=-5),
    "a round that is a text": lambda site: site.ask("train", round="1"),
    "more updates than the run gets": again,
    "a request at night": at_night,
    "a kind of message that there is not": raw("query.samples", RecordDict({CONFIG: ConfigRecord({"n": 1})})),
    "a request without fields": raw("train", RecordDict()),
    "a request without settings": raw("train", RecordDict({CONFIG: ConfigRecord({"round": 1})})),
    "a published model": raw("query.onboard", RecordDict({CONFIG: ConfigRecord({"model": json.dumps({"a": 1})})})),
    "a published model without a description": raw("query.onboard", RecordDict({CONFIG: ConfigRecord({"x": 1})})),
    "a vector that is no number": array_of(np.array(["a"])),
    "a vector that is an object": array_of(np.array([b"abc"])),
}


def field(name: str, value: Any) -> Callable[[Message], Message]:
    def spoil(reply: Message) -> Message:
        reply.content[CONFIG][name] = value
        return reply

    return spoil


def metric(name: str, value: Any) -> Callable[[Message], Message]:
    def spoil(reply: Message) -> Message:
        with metrics_in(reply) as metrics:
            metrics[name] = value
        return reply

    return spoil


def part(name: str) -> Callable[[Message], Message]:
    def spoil(reply: Message) -> Message:
        reply.content[name] = ArrayRecord({"samples": Array(np.zeros((3, 64), np.float32))})
        return reply

    return spoil


def vector(values: np.ndarray) -> Callable[[Message], Message]:
    def spoil(reply: Message) -> Message:
        reply.content[CONFIG] = ConfigRecord(dict(reply.content[CONFIG]) | pack({}, {}, values))
        return reply

    return spoil


APP: dict[str, Callable[[Message], Message]] = {
    "a field of samples": field("samples", "0.1,0.2"),
    "a metric of labels": metric("labels", [0, 1, 2]),
    "a second part": part("samples"),
    "other arrays": part(ARRAYS),
    "a huge update": vector(THETA + 1e4),
    "an update of another length": vector(np.full(3 * len(THETA), 1e4, np.float32)),
    "NaN": vector(np.full_like(THETA, np.nan)),
    "an encoding that was not asked for": field("shared_type", "int8"),
    "no sample count": field("metrics", "{}"),
    "metrics that are no JSON": field("metrics", "{"),
    "an error that tells more than its kind": lambda reply: Message(Error(2, "labels: 0 1 2"), reply_to=reply),
}


@pytest.fixture
def site(tmp_path: Path) -> GatedSite:
    site = GatedSite(tmp_path, POLICY)
    site.approve()
    return site


def test_the_approved_run_gets_past(site: GatedSite) -> None:
    assert not any(site.ask(kind).has_error() for kind in ("query.hello", "train", "evaluate"))


def test_there_are_thirty_attempts() -> None:
    assert len(SERVER) >= 30


@pytest.mark.parametrize("name", SERVER)
def test_a_hostile_server_gets_nothing(site: GatedSite, name: str) -> None:
    reply = SERVER[name](site)
    assert refused(reply)
    assert site.asked == 3 * (name == "more updates than the run gets")


@pytest.mark.parametrize("name", APP)
def test_an_app_that_was_turned_sends_nothing(site: GatedSite, name: str) -> None:
    site.spoil = APP[name]
    assert refused(site.ask("train"))
    assert Ledger.read(site.state).updates == {}


def test_a_vector_of_any_length_is_sent_in_vain(site: GatedSite) -> None:
    config = request_config(OWN, 1, spec=SPEC_OF_DIGITS)
    reply = site.send(request("train", 9, config, Packed(np.zeros(7, np.float32)), 60.0))
    assert reply.has_error()
    assert not reply.has_content()
