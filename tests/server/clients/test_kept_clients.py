"""The clients in a checkpoint: all comes back, what lasts is written out once, and former versions are read."""

import binascii
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from pfedgp_core.errors import DamagedStateError
from pfedgp_core.wire.hello import Hello
from server.clients.kept_clients import KeptClients
from server.clients.record import NOWHERE, Client
from server.clients.roster import Roster
from tests.federation_run import SMALL

HELLO = Hello("a", (0, 1), ("x", "y", "z"), 5, 2, 3, (3, 8, 8), "hash", {"flwr": "1"}, (0.5,), (1.5,))
CLIENTS = [
    Client(7, HELLO, [1, 4]),
    Client(8, replace(HELLO, name="b", classes=(2,)), [], "key-b"),
    Client(9, replace(HELLO, name="c", n_test=0), [2]),
]


def there_and_back(clients: list[Client], away: list[str]) -> tuple[list[Client], list[str]]:
    return KeptClients.from_state(json.loads(json.dumps(KeptClients().to_state(clients, away))))


def test_all_comes_back() -> None:
    clients, online = there_and_back(CLIENTS, ["b"])
    assert clients == [replace(client, node_id=NOWHERE) for client in CLIENTS]
    assert online == ["a", "c"]


@pytest.mark.parametrize("count", [0, 1])
def test_of_few_clients_too(count: int) -> None:
    assert there_and_back(CLIENTS[:count], []) == (
        [replace(c, node_id=NOWHERE) for c in CLIENTS[:count]],
        ["a"][:count],
    )


def test_what_all_share_is_written_once() -> None:
    presented = json.loads(KeptClients().to_state(CLIENTS, [])["presented"])
    assert presented["same"]["class_names"] == ["x", "y", "z"]
    assert set(presented["clients"][0]) == {"name", "classes", "n_test"}


def test_a_new_round_writes_no_greeting_again_and_a_new_greeting_does() -> None:
    kept, clients = KeptClients(), [replace(client) for client in CLIENTS]
    first = kept.to_state(clients, [])
    clients[1].trained_in = [5]
    second = kept.to_state(clients, ["a"])
    assert second["presented"] is first["presented"]
    assert second["trained_in"] == {"a": [1, 4], "b": [5], "c": [2]}
    clients[1].hello = replace(clients[1].hello, n_train=6)
    assert '"n_train": 6' in kept.to_state(clients, [])["presented"]
    clients[1].key = "another"
    assert "another" in kept.to_state(clients, [])["presented"]


def many(count: int) -> list[Client]:
    return [Client(9 + i, replace(HELLO, name=f"client-{i}", n_train=5 + i % 7)) for i in range(count)]


def test_greetings_of_many_clients_are_packed_and_come_back() -> None:
    state = KeptClients().to_state(many(2000), [])
    assert len(state["presented"]) < 2000 * 10
    assert there_and_back(many(2000), []) == (
        [replace(client, node_id=NOWHERE) for client in many(2000)],
        [f"client-{i}" for i in range(2000)],
    )


@pytest.mark.parametrize("damage", [lambda text: text[:400], lambda text: "AAAA" + text[4:], lambda text: "%" + text])
def test_damaged_packed_greetings_are_refused(damage: Callable[[str], str]) -> None:
    state = {"spec": "{}"} | KeptClients().to_state(many(2000), [])
    with pytest.raises(DamagedStateError, match="The clients in the checkpoint cannot be read"):
        Roster(SMALL).adopt_state(state | {"presented": damage(state["presented"])})


def with_spaces(count: int) -> str:
    """Packed greetings of nobody, with that many spaces among them."""
    packer = zlib.compressobj(1)
    parts = [packer.compress(b'{"same": {}, ' + b" " * (count % 2**20))]
    parts += [packer.compress(b" " * 2**20) for _ in range(count // 2**20)]
    return binascii.b2a_base64(b"".join([*parts, packer.compress(b'"clients": []}'), packer.flush()])).decode().strip()


@pytest.mark.slow
def test_greetings_that_unpack_beyond_a_bound_are_refused() -> None:
    small = KeptClients().to_state([], [])
    assert KeptClients.from_state(small | {"presented": with_spaces(2**20)}) == ([], [])
    with pytest.raises(ValueError, match="longer than 268"):
        KeptClients.from_state(small | {"presented": with_spaces(2**28)})


@pytest.mark.parametrize("junk", [b"x", bytes(1000), zlib.compress(b"{}")], ids=["letter", "zeros", "packed"])
def test_packed_greetings_with_something_behind_them_are_refused(junk: bytes) -> None:
    state = KeptClients().to_state(many(2000), [])
    longer = binascii.b2a_base64(binascii.a2b_base64(state["presented"]) + junk, newline=False).decode()
    with pytest.raises(ValueError, match="something behind them"):
        KeptClients.from_state(state | {"presented": longer})


@pytest.mark.parametrize("count", [2, 2000])
def test_a_client_that_is_there_twice_is_refused(count: int) -> None:
    clients = [*many(count), many(1)[0]]
    with pytest.raises(ValueError, match="the client client-0 is there 2 times"):
        there_and_back(clients, [])


def test_a_client_that_is_twice_in_a_state_of_former_versions_is_refused() -> None:
    former = [{"hello": asdict(c.hello), "trained_in": [], "key": "", "online": True} for c in (*CLIENTS, CLIENTS[1])]
    with pytest.raises(ValueError, match="the client b is there 2 times"):
        KeptClients.from_state(json.loads(json.dumps({"clients": former})))


def test_states_of_former_versions_are_read() -> None:
    former = [
        {"hello": asdict(c.hello), "trained_in": c.trained_in, "key": c.key, "online": c.name != "b"} for c in CLIENTS
    ]
    clients, online = KeptClients.from_state(json.loads(json.dumps({"clients": former})))
    assert clients == [replace(client, node_id=NOWHERE) for client in CLIENTS]
    assert online == ["a", "c"]


@pytest.mark.parametrize(
    "change",
    [
        {"presented": 3},
        {"presented": "{"},
        {"presented": '{"same": {}, "clients": [{}]}'},
        {"presented": '{"same": [], "clients": []}'},
        {"trained_in": {"d": [1]}},
        {"trained_in": []},
        {"away": None},
        {"trained_in": {"a": ["x"]}},
    ],
)
def test_a_damaged_state_is_named(change: dict[str, object]) -> None:
    roster = Roster(SMALL)
    state = {"spec": "{}"} | KeptClients().to_state(CLIENTS, []) | change
    with pytest.raises(DamagedStateError, match="The clients in the checkpoint cannot be read"):
        roster.adopt_state(state)
