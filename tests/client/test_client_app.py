"""The ClientApp by itself: replies, and what an exception lets out."""

import json
import logging

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict

import client.client_app
from client.client_app import app
from client.site import greeting, load_site
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.model.shared import SharedState
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import CONFIG
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from server.flower.messages import Packed, request
from tests.federation_run import SMALL
from tests.wire_parts import vector_of

THETA = SharedState.initial(SMALL, (1, 8, 8), 10).to_vector()


def ask(
    kind: str, index: int = 0, settings: dict | None = None, vector: np.ndarray | None = THETA, **config
) -> Message:
    """Send one request to a client and return its reply."""
    fields = {"settings": json.dumps(settings or SMALL.to_run_config()), "round": 1, "split": ""} | config
    message = request(kind, 9, ConfigRecord(fields), None if vector is None else Packed(vector), 60.0)
    return app(message, Context(1, 9, {"partition-id": index, "num-partitions": 5}, RecordDict(), {}))


def read(record_type, reply: Message):
    """Parse a reply."""
    return record_type.from_wire(*unpack(reply.content[CONFIG]))


def test_hello_tells_counts_and_no_data() -> None:
    reply = ask("query.hello", index=3, vector=None)
    hello = read(Hello, reply)
    assert hello.name == "client-03"
    assert len(hello.classes) == 2
    assert hello.n_train == 40
    assert set(reply.content) == {CONFIG}
    assert set(reply.content[CONFIG]) == {"hello"}


def test_train_depends_on_seed_round_and_client_only() -> None:
    first, again, later = (ask("train", round=r) for r in (1, 1, 2))
    vectors = [vector_of(r).tobytes() for r in (first, again, later)]
    assert vectors[0] == vectors[1] != vectors[2]
    reply = read(TrainReply, first)
    assert (reply.name, reply.status, reply.steps) == ("client-00", "ok", 1)
    assert set(reply.seconds) == {"network", "gp", "cpu"}


def test_an_output_scale_beside_the_settings_is_that_of_the_classifier() -> None:
    larger = {**SMALL.to_run_config(), "gp.output-scale": 128.0, "gp.predict-sweeps": 29}
    beside, within, usual = (
        read(EvaluateReply, ask("evaluate", split="test", **more)).sums
        for more in ({"scale": 128.0}, {"settings": larger}, {})
    )
    assert beside == within != usual


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -8.0, 1e7, "8", 8])
def test_an_output_scale_that_can_be_none_is_refused(scale: object) -> None:
    assert ask("evaluate", split="test", scale=scale).error.reason == "DataError"


def test_evaluate_measures_the_split_that_was_asked_for() -> None:
    hello = read(Hello, ask("query.hello", vector=None))
    for split in ("validation", "test"):
        reply = read(EvaluateReply, ask("evaluate", split=split))
        assert reply.split == split
        assert reply.sums.n == hello.count(split)


def test_requests_do_not_disturb_each_other() -> None:
    alone = vector_of(ask("train", index=1))
    ask("train", index=2), ask("evaluate", index=1, split="test")
    assert np.array_equal(vector_of(ask("train", index=1)), alone)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"kind": "train", "vector": THETA[:-1]}, "DataError"),
        ({"kind": "train", "vector": np.full_like(THETA, np.nan)}, "DataError"),
        ({"kind": "train", "vector": None}, "DataError"),
        ({"kind": "evaluate", "split": "train"}, "DataError"),
        ({"kind": "train", "settings": {"no-such-setting": 1}}, "ConfigError"),
        ({"kind": "train", "settings": {"clients": 4, "clients-per-round": 2}}, "ConfigError"),
    ],
)
def test_a_bad_request_gives_an_error_of_a_named_type(request_: dict, error: str) -> None:
    reply = ask(**request_)
    assert reply.has_error()
    assert (reply.error.code, reply.error.reason) == (2, error)


def test_an_exception_stays_on_the_client(
    monkeypatch: pytest.MonkeyPatch, tmp_path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments):
        raise KeyError("patient Miller")

    monkeypatch.setattr(client.client_app, "site_method", broken)
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "clients.log"))
    reply = ask("train")
    assert (reply.error.code, reply.error.reason) == (2, "KeyError")
    text = (tmp_path / "clients.log").read_text()
    assert "Traceback" in text
    assert "patient Miller" in text
    assert "Miller" not in "".join(capfd.readouterr())


def test_without_a_log_file_the_traceback_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.delenv("PFEDGP_CLIENT_LOG", raising=False)
    assert ask("evaluate", split="nonsense").has_error()
    assert "Traceback" in capsys.readouterr().err


def test_a_text_of_the_server_fills_no_log(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "clients.log"))
    for text in ("x" * 900_000 + "\x1b[2J", "\n" * 400_000):
        assert ask("train", settings=SMALL.to_run_config() | {"network": text}).has_error()
        assert ask("evaluate", split=text).has_error()
        assert ask("query.hello", settings=SMALL.to_run_config() | {text: 1}).has_error()
    written = (tmp_path / "clients.log").read_text()
    assert len(written) < 200_000
    assert "\x1b" not in written


def test_a_site_without_data_is_told_what_to_pass() -> None:
    with pytest.raises(DataError, match="partition-id=0 num-partitions=2"):
        load_site(SMALL, {})


@pytest.mark.parametrize("config", [{"num-partitions": 2}, {}, {"num-partitions": "5"}])
def test_the_number_of_nodes_must_be_the_number_of_clients(config: dict) -> None:
    with pytest.raises(ConfigError, match="5 participating clients"):
        load_site(SMALL, {"partition-id": 0} | config)


def test_unseen_clients_are_left_out_of_the_simulation() -> None:
    settings = SMALL.replace(unseen_clients=2, clients_per_round=2)
    hello = greeting(settings, {"partition-id": 2, "num-partitions": 3})
    # The clients that take part are the same as without, so the unseen ones can be measured against them.
    assert hello.partition_hash == greeting(SMALL, {"partition-id": 2, "num-partitions": 5}).partition_hash
    with pytest.raises(ConfigError, match="0 to 2"):
        load_site(settings, {"partition-id": 3, "num-partitions": 3})


@pytest.mark.parametrize("index", [-1, 5, "0", 0.5])
def test_a_partition_id_out_of_range(index: object) -> None:
    with pytest.raises(ConfigError, match="0 to 4"):
        load_site(SMALL, {"partition-id": index, "num-partitions": 5})


def test_a_site_may_have_its_own_name_and_loads_its_data_once() -> None:
    node = {"partition-id": 1, "num-partitions": 5}
    named, plain = load_site(SMALL, node | {"client-name": "ward-3"}), load_site(SMALL, node)
    assert (named.data.name, plain.data.name) == ("ward-3", "client-01")
    assert named.data.train.inputs is plain.data.train.inputs
