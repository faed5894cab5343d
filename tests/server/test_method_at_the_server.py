"""The server asks the method: what each client receives, how long an upload is, what becomes of the uploads."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict

from client.client_app import app
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.methods.make import make_method, require_onboards
from pfedgp_core.wire.names import OK, STATUS, TRAIN
from server.downloads import Downloads
from server.server_app import serve
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, Run, federate, resume, start
from tests.killed import at_message, killed
from tests.own_method import DOWNLOAD, STATE, UPLOAD, Ledger
from tests.own_sites import OWN, OwnGrid, archive, rows_of
from tests.uninterrupted import MODES, same, without_pictures
from tests.wire_parts import put_vector, vector_of

LEDGER = SMALL.replace(method="tests.own_method:Ledger", rounds=3)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def counted(run: Run) -> float:
    """How many uploads the ledger's step has recognised."""
    return float(run.model("final")[0])


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_every_client_gets_its_own_download_and_sends_back_another_length(deployed: bool, tmp_path: Path) -> None:
    run = federate(LEDGER, tmp_path / "run", deployed=deployed)
    assert counted(run) == LEDGER.rounds * LEDGER.clients_per_round


def test_bytes_are_those_of_downloads_and_uploads(tmp_path: Path) -> None:
    run = federate(LEDGER.replace(rounds=2, evaluate_every=2), tmp_path / "run", deployed=True)
    assert run.records[0]["bytes_sent"] == 4 * DOWNLOAD * LEDGER.clients_per_round
    assert run.records[0]["bytes_received"] == 4 * UPLOAD * LEDGER.clients_per_round


def test_the_server_s_state_may_be_longer_than_what_travels(tmp_path: Path) -> None:
    run = federate(LEDGER, tmp_path / "run")
    assert run.model("best").shape == run.model("final").shape == (STATE,)


@pytest.mark.slow
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_killed_run_goes_on_with_the_method_s_state(deployed: bool, tmp_path: Path) -> None:
    whole = federate(LEDGER, tmp_path / "whole", deployed=deployed)
    killed(lambda: federate(LEDGER, tmp_path / "run", at_message(TRAIN, 2), deployed))
    assert same(resume(tmp_path / "run", deployed=deployed), whole)


def test_uploads_that_are_no_updates_have_no_norm(tmp_path: Path) -> None:
    run = federate(LEDGER, tmp_path / "run")
    assert [record["update_norm"] for record in run.records] == [None] * LEDGER.rounds


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        (np.zeros(DOWNLOAD, np.float32), f"has shape [{DOWNLOAD}], not [{UPLOAD}]"),
        (np.full(UPLOAD, np.inf, np.float32), "NaN or infinity"),
    ],
)
def test_uploads_of_another_length_or_not_finite_are_refused(vector: np.ndarray, reason: str, tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == TRAIN and index == 0:
            put_vector(reply, vector)
        return reply

    run = federate(LEDGER.replace(rounds=1, clients_per_round=5), tmp_path / "run", tamper)
    assert reason in run.records[0]["failed"]["client-00"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["local-network", "local"])
def test_replies_without_an_upload_count_as_results(method: str, tmp_path: Path) -> None:
    settings = SMALL.replace(method=method, rounds=2, min_results=3, max_failed_rounds=1)
    run = federate(settings, tmp_path / "run")
    assert [record["ok"] for record in run.records] == [3, 3]


def test_an_identical_download_is_packed_once() -> None:
    method = make_method(SMALL, (1, 8, 8), 10)
    downloads = Downloads(method, method.initial())
    assert downloads.of("client-00") is downloads.of("client-01")


def test_the_default_download_is_the_state_itself() -> None:
    method = make_method(SMALL, (1, 8, 8), 10)
    state = method.initial()
    assert Downloads(method, state).of("client-00").vector is state


def test_different_downloads_are_packed_each() -> None:
    downloads = Downloads(Ledger(LEDGER, (1, 8, 8), 10), np.zeros(STATE, np.float32))
    sent = [downloads.of(f"client-0{i}").vector[-1] for i in (3, 1, 3)]
    assert sent == [3, 1, 3]


def test_the_norm_of_an_update_is_measured_from_what_its_client_received(tmp_path: Path) -> None:
    run = federate(LEDGER.replace(method="tests.server.test_method_at_the_server:Shifted", rounds=1), tmp_path / "run")
    assert run.records[0]["update_norm"] == pytest.approx(1.0)


class Shifted(Ledger):
    """Every client moves one value by 1 from a download of its own."""

    name, private = "shifted", True

    @property
    def upload_size(self) -> int:
        """As long as a download."""
        return DOWNLOAD

    def update(self, received, kept, data, stream):
        """Move the first value."""
        moved = received.copy()
        moved[0] += 1
        return super().update(received, kept, data, stream)._replace(upload=moved)

    def step(self, state, uploads):
        """Leave the state as it is."""
        return state


class Growing(Ledger):
    """Its state does not keep its length."""

    name = "growing"

    def step(self, state, uploads):
        """Add a value."""
        return np.append(state, np.float32(1))


def test_a_step_that_changes_the_state_s_length_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    settings = LEDGER.replace(method="tests.server.test_method_at_the_server:Growing")
    with pytest.raises(RunFailedError, match="made 8 values of a state of 7: it must keep the length"):
        federate(settings, tmp_path / "run")


class Exploding(Ledger):
    """Its state leaves the numbers."""

    name = "exploding"

    def step(self, state, uploads):
        """Divide nothing by nothing."""
        return np.full_like(state, np.nan)


class Forgetful(Ledger):
    """Its step returns nothing."""

    name = "forgetful"

    def step(self, state, uploads):
        """Forget to return."""


@pytest.mark.parametrize(
    ("name", "reason"), [("Exploding", "not finite"), ("Forgetful", "is NoneType: return a float32 array")]
)
def test_a_step_that_makes_no_model_leaves_the_former_one(name: str, reason: str, tmp_path: Path) -> None:
    settings = LEDGER.replace(method=f"tests.server.test_method_at_the_server:{name}")
    with pytest.raises(RunFailedError, match=reason):
        federate(settings, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "failed"
    assert not list((tmp_path / "run").glob("best"))


class Careless(Ledger):
    """Says that its uploads are updates of its downloads, which are longer."""

    name, private = "careless", True


def test_a_method_whose_uploads_cannot_be_updates_is_told_so(tmp_path: Path) -> None:
    settings = LEDGER.replace(method="tests.server.test_method_at_the_server:Careless")
    with pytest.raises(RunFailedError, match=r"receive 5 values and send 2, .*: set private = False in its class"):
        federate(settings, tmp_path / "run")


def test_noise_is_refused_where_it_makes_nothing_private(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"dp-noise > 0 does not go with method = 'tests.own_method:Ledger'"):
        federate(LEDGER.replace(dp_noise=1.0), tmp_path / "run")


def test_a_method_that_is_not_there_is_found_before_there_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no Nothing: correct the name"):
        federate(LEDGER.replace(method="tests.own_method:Nothing"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_s_model_that_gives_a_newcomer_no_classifier_is_not_published(tmp_path: Path) -> None:
    run, grid = federate(SMALL.replace(method="fedavg", rounds=1), tmp_path / "run"), FakeGrid(app, 2)
    config = {"publish": str(run.path / "best"), "out": str(tmp_path / "published")}
    with pytest.raises(ConfigError, match="method = 'fedavg' cannot be published, onboarded or certified"):
        serve(grid, Context(1, 1, {}, RecordDict(), dict(config)), grid.engine)


def test_the_end_of_a_run_says_that_sites_keep_no_classifier(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    sites = {name: archive(tmp_path / f"{name}.npz", rows_of(0, 1, part=i)) for i, name in enumerate("ab")}
    settings = OWN.replace(method="fedavg", personalise=True, min_clients=2, clients_per_round=2, rounds=1)
    run = start(OwnGrid(sites), settings, tmp_path / "run")
    assert not (run.path / "onboarded.json").exists()
    assert "the sites keep no classifier: models of method fedavg are not onboarded" in caplog.text


def test_a_model_that_gives_a_newcomer_no_classifier_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"method = 'lda' cannot be .* certified: .* that can \(pfedgp, whitened\)"):
        require_onboards(SMALL.replace(method="lda"))


def test_a_status_says_whether_there_is_an_upload(tmp_path: Path) -> None:
    replies: list[Message] = []

    def note(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == TRAIN:
            replies.append(reply)
        return reply

    federate(LEDGER.replace(rounds=1), tmp_path / "run", note)
    (config,) = replies[0].content.config_records.values()
    assert (config[STATUS], vector_of(replies[0]).shape) == (OK, (UPLOAD,))
