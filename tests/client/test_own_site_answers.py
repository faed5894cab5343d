"""What a site with its own data answers, what it says in its own log, and what leaves it."""

import hashlib
import json
import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from client.own_site import own_site
from client.progress import PROGRESS_FILE
from client.published import onboard_node
from client.site import greeting, load_site
from client.source import Source
from pfedgp.site.flower_log import warning_of_app
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import CONFIG
from pfedgp_core.wire.replies import TrainReply
from tests.client.site_requests import CLASSES, OWN, SPEC_OF_DIGITS, THETA, ask, node
from tests.own_sites import DIGITS, IMAGES, archive, rows_of, table
from tests.wire_parts import vector_of


def published_model() -> TrainedModel:
    return TrainedModel(THETA, OWN, CLASSES, (1, 8, 8), np.full(1, 0.3, np.float32), np.full(1, 0.35, np.float32))


@pytest.mark.parametrize(
    ("settings", "spec", "said"),
    [
        (OWN, None, ""),
        (OWN, DataSpec(CLASSES, (64,), (0.3,) * 64, (0.35,) * 64), ""),
        (OWN.replace(class_names="d1,d3x"), None, "'d3' is none of the federation's 2 classes (d1, d3x): did you mean"),
        (OWN, DataSpec(CLASSES, (1, 8, 9), (0.3,), (0.35,)), "its inputs have shape 64, those of the federation 1 x 8"),
    ],
)
def test_a_site_that_cannot_take_part_says_so_in_its_own_log(
    settings: Settings, spec: DataSpec | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "site.log"
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(log))
    where = node(table(tmp_path / "t.csv", rows_of(1, 3)), state=str(tmp_path))
    assert not ask("query.hello", where, settings, spec).has_error()
    text = log.read_text()
    assert text.count("this site cannot take part") == bool(said)
    assert said in text


def test_what_keeps_a_site_from_answering_is_a_warning_in_its_own_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "site.log"))
    where = node(table(tmp_path / "t.csv", rows_of(1, 3)), state=str(tmp_path))
    reply = ask("query.hello", where, OWN.replace(input_shape="63"), None)
    assert reply.error.reason == "DataError"
    (line,) = [line for line in (tmp_path / "site.log").read_text().splitlines() if "WARNING" in line]
    assert "shape 63" in warning_of_app(line)


def test_training_notes_its_progress(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(tmp_path))
    reply = ask("train", config)
    record = TrainReply.from_wire(*unpack(reply.content[CONFIG]))
    about = json.loads((tmp_path / PROGRESS_FILE).read_text())
    assert (about["run"], about["round"], about["status"], about["n_train"]) == ("7", 1, "ok", record.n_train)
    assert about["sent_sha256"] != about["received_sha256"]
    assert about["sent_sha256"] == hashlib.sha256(vector_of(reply).tobytes()).hexdigest()
    assert about["received_sha256"] == hashlib.sha256(THETA.tobytes()).hexdigest()


def test_progress_that_cannot_be_written_costs_no_round(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(tmp_path))
    assert not ask("query.hello", config).has_error()
    (tmp_path / PROGRESS_FILE).mkdir()
    assert not ask("train", config).has_error()


def test_only_the_type_of_an_exception_leaves_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = node(archive(tmp_path / "miller.npz", rows_of(0, 9)))
    replies = [ask("train", config), ask("evaluate", config), ask("query.hello", node(tmp_path / "miller.csv"))]

    def full(*arguments: object) -> None:
        raise torch.OutOfMemoryError("patient Miller")

    monkeypatch.setattr("pfedgp_core.methods.pfedgp.local_update", full)
    replies.append(ask("train", config, spec=DataSpec(("d0", "d9"), (1, 8, 8), (0.3,), (0.3,))))
    assert [reply.error.reason for reply in replies] == ["DataError", "DataError", "DataError", "DeviceMemoryError"]


def test_onboarding_uses_the_training_part_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(state))
    n = greeting(OWN, config).n_train
    reply = onboard_node(published_model(), config)
    assert reply.samples == n
    assert reply.classes == ("d0", "d1")
    assert len(SavedSite.load(state / "site").samples) == n
    assert onboard_node(published_model(), config).outcome == "unchanged"


def test_onboarding_keeps_the_columns_of_a_table(tmp_path: Path) -> None:
    vector = SharedState.initial(OWN, (64,), 4).to_vector()
    model = TrainedModel(vector, OWN, CLASSES, (64,), np.zeros(64, np.float32), np.ones(64, np.float32))
    onboard_node(model, node(table(tmp_path / "t.csv", rows_of(0, 1, of=9)), state=str(tmp_path)))
    assert SavedSite.load(tmp_path / "site").columns[:2] == ("p0", "p1")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_site_trains_and_is_measured_on_a_gpu(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), device="cuda")
    assert load_site(OWN, config, SPEC_OF_DIGITS).data.train.inputs.device.type == "cuda"
    trained = ask("train", config)
    assert not trained.has_error()
    assert np.isfinite(vector_of(trained)).all()
    assert not ask("evaluate", config).has_error()


def test_a_site_whose_training_part_is_empty_says_so_and_takes_part(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state, data = tmp_path / "state", tmp_path / "b.npz"
    state.mkdir()
    rows = rows_of(0, 1)
    first = own_site(Source("ward-3", str(archive(data, rows)), state=str(state))).refresh()
    kept = sorted(first.parts["validation"].ids + first.parts["test"].ids, key=int)
    archive(data, rows[[int(i) - 1 for i in kept]])
    own_site.cache_clear()
    said = Hello.from_wire(*unpack(ask("query.hello", node(data, state=str(state))).content[CONFIG]))
    assert said.n_train == 0
    assert said.n_validation > 0
    assert said.classes == ()
    assert "no training samples: all of" in caplog.text
    reply = TrainReply.from_wire(*unpack(ask("train", node(data, state=str(state))).content[CONFIG]))
    assert reply.status == "no-data"
    assert reply.n_train == 0


def test_a_site_whose_samples_leave_none_for_the_test_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = tmp_path / "a.npz"
    np.savez(data, images=IMAGES[rows_of(0)], labels=DIGITS[rows_of(0)], groups=["p"] * len(rows_of(0)))
    assert own_site(Source("ward-3", str(data))).refresh().count("test") == 0
    assert f"no test samples: equal samples and those of a group stay together, and {data}" in caplog.text
