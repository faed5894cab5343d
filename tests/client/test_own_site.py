"""A site's own data in its process: what is read when, the kept split, the device, and what leaves the site."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import ConfigRecord, Context, Message, RecordDict

from client import own_site as own_site_module
from client.client_app import app
from client.own_site import Source, own_site
from client.progress import PROGRESS_FILE
from client.published import onboard_node
from client.site import greeting, load_site
from pfedgp.site.flower_log import warning_of_app
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.model.shared import SharedState
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import CONFIG, SPEC
from pfedgp_core.wire.replies import TrainReply
from server.flower.messages import pack_vector, request, request_config
from tests.federation_run import QUICK
from tests.own_sites import DIGITS, IMAGES, archive, image_folder, rows_of, table
from tests.wire_parts import vector_of

OWN = Settings(gp=QUICK)
CLASSES = tuple(f"d{i}" for i in range(4))
SPEC_OF_DIGITS = DataSpec(CLASSES, (1, 8, 8), (0.3,), (0.35,))
THETA = SharedState.initial(OWN, (1, 8, 8), 4).to_vector()


@pytest.fixture(autouse=True)
def fresh_sites() -> None:
    """Each test is a new process as far as data in memory go."""
    own_site.cache_clear()


def node(path: Path | str, **more: Any) -> dict[str, Any]:
    return {"client-name": "ward-3", "data-path": str(path)} | {key.replace("_", "-"): v for key, v in more.items()}


def ask(
    kind: str, node_config: dict[str, Any], settings: Settings = OWN, spec: DataSpec | None = SPEC_OF_DIGITS
) -> Message:
    vector = None if kind == "query.hello" else pack_vector(THETA)
    config: ConfigRecord = request_config(settings, 1, spec=spec)
    return app(request(kind, 9, config, vector, 60.0), Context(7, 9, node_config, RecordDict(), {}))


def test_the_kept_split_lasts_when_data_grow(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    data = image_folder(tmp_path / "data", rows_of(0, 1, of=6))
    site = own_site(Source("w", str(data), state=str(state))).loaded()
    before = {part: set(site.parts[part].ids) for part in site.parts}
    image_folder(data, rows_of(0, 1, of=6, part=1))
    own_site.cache_clear()
    grown = own_site(Source("w", str(data), state=str(state))).loaded()
    for part, ids in before.items():
        assert ids < set(grown.parts[part].ids)
    sizes = [grown.count(part) for part in ("train", "validation", "test")]
    assert np.allclose(np.array(sizes) / sum(sizes), (0.6, 0.2, 0.2), atol=0.03)


def test_a_copy_of_an_image_never_lands_in_another_part(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "data", rows_of(0, 1, of=4))
    for image in list(data.rglob("*.png")):
        (image.parent / f"copy of {image.name}").write_bytes(image.read_bytes())
    site = own_site(Source("w", str(data), input_shape=(3, 4, 4))).loaded()
    of = {name.split("/")[1].removeprefix("copy of "): part for part, s in site.parts.items() for name in s.ids}
    for part, samples in site.parts.items():
        assert all(of[name.split("/")[1].removeprefix("copy of ")] == part for name in samples.ids)
    assert site.input_shape == (3, 4, 4)


def test_resizing_does_not_change_the_split(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "data", rows_of(0, 1, of=6))
    plain, small = (own_site(Source("w", str(data), input_shape=s)).loaded() for s in (None, (1, 4, 4)))
    assert [plain.parts[p].ids for p in plain.parts] == [small.parts[p].ids for p in small.parts]


def test_a_damaged_split_refuses_the_site_and_names_no_path_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "site.log"))
    (tmp_path / "split.json").write_text("{}")
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(tmp_path))
    with pytest.raises(ArtefactError, match="restore it from a copy"):
        greeting(OWN, config)
    reply = ask("query.hello", config)
    assert (reply.error.code, reply.error.reason) == (2, "ArtefactError")
    assert "restore it from a copy" in (tmp_path / "site.log").read_text()


def test_files_are_read_again_only_at_a_greeting_and_only_if_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    read = own_site_module.read_splits
    monkeypatch.setattr(own_site_module, "read_splits", lambda path, **o: reads.append(path) or read(path, **o))
    path = archive(tmp_path / "a.npz", rows_of(0, 1, of=4))
    config = node(path)
    n = greeting(OWN, config).n_train
    first = load_site(OWN, config, SPEC_OF_DIGITS).data
    greeting(OWN, config)
    assert load_site(OWN, config, SPEC_OF_DIGITS).data is first and len(reads) == 1
    archive(path, rows_of(0, 1, of=2))
    assert load_site(OWN, config, SPEC_OF_DIGITS).data is first and len(reads) == 1
    assert greeting(OWN, config).n_train > n and len(reads) == 2
    assert len(load_site(OWN, config, SPEC_OF_DIGITS).data.train) > n
    path.unlink()
    with pytest.raises(DataError, match="nothing at"):
        greeting(OWN, config)
    with pytest.raises(DataError, match="nothing at"):
        load_site(OWN, config, SPEC_OF_DIGITS)


def test_the_greeting_tells_own_classes_and_raw_moments(tmp_path: Path) -> None:
    rows = rows_of(1, 3)
    images = IMAGES[rows].copy()
    images[:] = 51
    images[:, 0] += np.arange(len(rows), dtype=np.uint8)[:, None] % 2  # not all equal, or there would be one sample
    np.savez(tmp_path / "a.npz", images=images, labels=DIGITS[rows])
    hello = greeting(OWN, node(tmp_path / "a.npz"))
    assert (hello.name, hello.class_names, hello.classes, hello.partition_hash) == ("ward-3", ("1", "3"), (0, 1), "")
    assert hello.own_data and hello.mean[0] == pytest.approx(0.2, rel=0.01) and hello.std[0] < 0.01
    assert Hello.from_wire(*hello.to_wire()) == hello


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
    assert text.count("this site cannot take part") == bool(said) and said in text


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


def test_inputs_are_normalised_as_the_federation_says(tmp_path: Path) -> None:
    rows = rows_of(0, 2)
    data = load_site(OWN, node(archive(tmp_path / "a.npz", rows)), SPEC_OF_DIGITS).data
    raw = own_site(Source("ward-3", str(tmp_path / "a.npz"))).parts["train"]
    expected = (torch.from_numpy(raw.inputs) / 255.0 - 0.3) / 0.35
    torch.testing.assert_close(data.train.inputs, expected)
    assert data.train.labels.unique().tolist() == [0, 2] and data.class_names == CLASSES


def test_training_notes_its_progress(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(tmp_path))
    reply = ask("train", config)
    record = TrainReply.from_wire(*unpack(reply.content[CONFIG]))
    about = json.loads((tmp_path / PROGRESS_FILE).read_text())
    assert (about["run"], about["round"], about["status"], about["n_train"]) == ("7", 1, "ok", record.n_train)
    assert about["sent_sha256"] != about["received_sha256"]
    import hashlib

    assert about["sent_sha256"] == hashlib.sha256(vector_of(reply).tobytes()).hexdigest()
    assert about["received_sha256"] == hashlib.sha256(THETA.tobytes()).hexdigest()


def test_progress_that_cannot_be_written_costs_no_round(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(tmp_path))
    assert not ask("query.hello", config).has_error()
    (tmp_path / PROGRESS_FILE).mkdir()
    assert not ask("train", config).has_error()


@pytest.mark.parametrize(
    ("config", "error", "text"),
    [
        ({"data_path": "a.npz", "client_name": ""}, ConfigError, "client-name"),
        ({"data_path": "a.npz", "client_name": "a\nb"}, ConfigError, "client-name"),
        ({"data_path": "none.npz"}, DataError, "nothing at"),
        ({"data_path": "/dev/null"}, DataError, "no known kind"),
        ({"data_path": "digits", "data_root": "/data"}, ConfigError, "leave out data-root"),
        ({"data_path": "a.npz", "data_root": "/data"}, ConfigError, "leave out data-root"),
        ({"data_path": "a.npz", "device": "cuda:99"}, ConfigError, "device"),
    ],
)
def test_node_configs_that_cannot_work(
    config: dict[str, str], error: type[Exception], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "a.npz", rows_of(0, 1))
    full = node("a.npz") | {key.replace("_", "-"): value for key, value in config.items()}
    with pytest.raises(error, match=text):
        greeting(OWN, full)
    with pytest.raises(error, match=text):
        load_site(OWN, full, SPEC_OF_DIGITS)


def test_requests_without_a_description_of_the_data_are_refused(tmp_path: Path) -> None:
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)))
    with pytest.raises(DataError, match="same pfedgp version"):
        load_site(OWN, config)
    with pytest.raises(DataError, match="shape 1 x 8 x 8, and the federation's 64"):
        load_site(OWN, config, DataSpec(CLASSES, (64,), (0.0,) * 64, (1.0,) * 64))


def test_a_built_in_set_keeps_its_parts(tmp_path: Path) -> None:
    hello = greeting(OWN.replace(input_shape="3,10,10"), node("digits"))
    assert (hello.n_train, hello.n_validation, hello.n_test) == (1078, 362, 357)
    assert hello.input_shape == (3, 10, 10) and hello.class_names == tuple("0123456789")
    regression = greeting(OWN.replace(task="regression"), node("diabetes"))
    assert regression.class_names == () and regression.n_train == 265
    with pytest.raises(DataError, match="is no finite number"):
        greeting(OWN.replace(task="regression"), node(archive(tmp_path / "a.npz", rows_of(0, 1))))


def test_only_the_type_of_an_exception_leaves_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = node(archive(tmp_path / "miller.npz", rows_of(0, 9)))
    replies = [ask("train", config), ask("evaluate", config), ask("query.hello", node(tmp_path / "miller.csv"))]

    def full(*arguments: object) -> None:
        raise torch.OutOfMemoryError("patient Miller")

    monkeypatch.setattr("pfedgp_core.methods.pfedgp.local_update", full)
    replies.append(ask("train", config, spec=DataSpec(("d0", "d9"), (1, 8, 8), (0.3,), (0.3,))))
    assert [reply.error.reason for reply in replies] == ["DataError", "DataError", "DataError", "DeviceMemoryError"]


def published_model() -> TrainedModel:
    return TrainedModel(THETA, OWN, CLASSES, (1, 8, 8), np.full(1, 0.3, np.float32), np.full(1, 0.35, np.float32))


def test_onboarding_uses_the_training_part_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    config = node(archive(tmp_path / "a.npz", rows_of(0, 1)), state=str(state))
    n = greeting(OWN, config).n_train
    reply = onboard_node(published_model(), config)
    assert reply.samples == n and reply.classes == ("d0", "d1")
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
    assert not trained.has_error() and np.isfinite(vector_of(trained)).all()
    assert SPEC and not ask("evaluate", config).has_error()


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
    assert said.n_train == 0 and said.n_validation > 0 and said.classes == ()
    assert "no training samples: all of" in caplog.text
    reply = TrainReply.from_wire(*unpack(ask("train", node(data, state=str(state))).content[CONFIG]))
    assert reply.status == "no-data" and reply.n_train == 0


def test_a_class_name_that_the_server_would_refuse_is_told_at_the_site(tmp_path: Path) -> None:
    np.savez(tmp_path / "b.npz", images=IMAGES[:2], labels=np.array(["a\nb", "c"]))
    with pytest.raises(DataError, match="Not a name of a class"):
        own_site(Source("ward-3", str(tmp_path / "b.npz"))).refresh()
