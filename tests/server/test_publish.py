"""Publishing a model: every node onboards itself on its own data, and tells a name, a count and its classes."""

import hashlib
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict

from client.client_app import app as client_app
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, DataError, RunFailedError
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import TENSORS
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.names import CONFIG, MODEL, MODEL_HASH, ONBOARD, ONBOARDED
from pfedgp_core.wire.publication import OnboardReply, publication, published_model
from pfedgp_core.wire.publication import description_hash as hash_of
from server import publish
from server.flower.messages import Packed, request
from server.publish import take_publish, waiting_settings
from server.run.model_file import load_model
from server.server_app import app as server_app
from tests.fakegrid import FakeGrid, Tamper
from tests.published_model import save_digits, save_digits_model


@pytest.fixture(scope="module")
def best(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_digits_model(tmp_path_factory.mktemp("model") / "run")


@pytest.fixture
def model(best: Path) -> TrainedModel:
    return TrainedModel.from_artefact(*load_model(best))


def grid_of(*nodes: dict[str, Any], tamper: Tamper | None = None) -> FakeGrid:
    grid = FakeGrid(client_app, 0, tamper)
    for node in nodes:
        grid.add_node({key: str(value) for key, value in node.items()})
    return grid


def published(grid: FakeGrid, best: Path, out: Path, **settings: Any) -> dict[str, Any]:
    run_config = Settings(wait_timeout=5.0).replace(**settings).to_run_config()
    run_config |= {"out": str(out), "tensorboard": "", "prometheus": "", "publish": str(best)}
    server_app(grid, Context(1, 1, {}, RecordDict(), run_config))
    return result_in(out)


def result_in(out: Path) -> dict[str, Any]:
    return json.loads((out / "onboarded.json").read_text())


def ask(model: TrainedModel, node_config: dict[str, Any], changes: dict[str, str] | None = None) -> Message:
    config = ConfigRecord(publication(model) | (changes or {}))
    message = request(ONBOARD, 9, config, Packed(model.vector), 60.0)
    return client_app(message, Context(1, 9, node_config, RecordDict(), {}))


def test_each_node_onboards_itself_and_bad_data_cost_one_site_only(
    best: Path, model: TrainedModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    save_digits(tmp_path / "a.npz", (3, 8))
    save_digits(tmp_path / "b.npz", (0, 1, 2), n=6)
    (tmp_path / "broken.npz").write_bytes(b"of patient 4711")
    replies: list[Message] = []
    grid = grid_of(
        {"client-name": "ward-3", "data-path": tmp_path / "a.npz", "site": tmp_path / "sites/w3"},
        {"data-path": tmp_path / "b.npz", "site": tmp_path / "sites/w4"},
        {"client-name": "ward-5", "data-path": tmp_path / "broken.npz", "site": tmp_path / "sites/w5"},
        tamper=lambda message, index, reply: replies.append(reply) or reply,
    )
    result = published(grid, best, tmp_path / "out", min_results=2)

    assert (result["status"], result["onboarded"], result["failed"]) == ("completed", 2, 1)
    assert result["model"] == {"path": str(best), "sha256": model.sha256, "temperature": 1.0, "round": 3}
    rows = {row["node"]: {k: v for k, v in row.items() if k not in ("node", "seconds")} for row in result["sites"]}
    first, second, third = (rows[str(node)] for node in grid.contexts)
    assert first == {"client": "ward-3", "outcome": "created", "samples": 24, "classes": ["3", "8"], "took_part": True}
    assert second == {
        "client": "",
        "outcome": "created",
        "samples": 18,
        "classes": ["0", "1", "2"],
        "took_part": None,
    }
    assert third == {"error": "DataError"}
    assert {path.name for path in (tmp_path / "sites").iterdir()} == {"w3", "w4"}
    site = SavedSite.load(tmp_path / "sites/w3")
    assert (site.name, site.model.sha256, len(site.samples)) == ("ward-3", model.sha256, 24)
    assert [c.message_type for c in (m.metadata for m in grid.sent)] == [ONBOARD] * 3
    assert any(line.startswith("ward-3: created, 24 samples of 3, 8") for line in caplog.messages)
    assert any("not onboarded, DataError (its data cannot be used" in line for line in caplog.messages)

    for reply in replies:
        if reply.has_error():
            assert reply.error.reason == "DataError"
            continue
        assert set(reply.content) == {CONFIG}
        fields = json.loads(str(reply.content[CONFIG][ONBOARDED]))
        assert list(reply.content[CONFIG]) == [ONBOARDED]
        assert str(tmp_path) not in str(fields)
        assert set(fields) == set(OnboardReply.__dataclass_fields__)
        assert "w4" not in str(fields)


def test_a_site_that_is_there_is_refreshed_where_something_changed(best: Path, tmp_path: Path) -> None:
    save_digits(tmp_path / "a.npz", (3, 8))
    grid = grid_of({"client-name": "w", "data-path": tmp_path / "a.npz", "site": tmp_path / "site"})

    def outcome(model: Path, out: str) -> str:
        (row,) = published(grid, model, tmp_path / out)["sites"]
        return row["outcome"]

    assert outcome(best, "1") == "created"
    before = (tmp_path / "site" / TENSORS).stat().st_mtime_ns
    assert outcome(best, "2") == "unchanged"
    assert (tmp_path / "site" / TENSORS).stat().st_mtime_ns == before
    save_digits(tmp_path / "a.npz", (3, 8, 9))
    assert outcome(best, "3") == "refreshed"
    assert len(SavedSite.load(tmp_path / "site").samples) == 36
    other = save_digits_model(tmp_path / "other", seed=1)
    assert outcome(other, "4") == "refreshed"
    assert SavedSite.load(tmp_path / "site").model.settings.seed == 1


def test_simulated_nodes_use_their_part_even_where_they_stayed_out_of_training(best: Path, tmp_path: Path) -> None:
    grid = FakeGrid(client_app, 0)
    for index in (0, 4, 5):
        grid.add_node({"partition-id": index, "num-partitions": 6, "site": str(tmp_path / f"{index}")})
    result = published(grid, best, tmp_path / "out", min_results=2)
    seen = {row.get("client"): row.get("took_part") for row in result["sites"]}
    assert seen == {"client-00": True, "client-04": None, None: None}
    (failed,) = [row for row in result["sites"] if "error" in row]
    assert failed["error"] == "ConfigError"  # there is no sixth client
    assert SavedSite.load(tmp_path / "4").name == "client-04"


def test_nobody_to_onboard_fails_the_run(best: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailedError, match=r"No node connected within 0\.2 s"):
        published(grid_of(), best, tmp_path / "none", wait_timeout=0.2)
    result = result_in(tmp_path / "none")
    assert result["status"] == "failed"
    assert result["sites"] == []
    assert "wait-timeout" in result["reason"]

    monkeypatch.setattr(publish, "PATIENCE", 0.2)
    save_digits(tmp_path / "a.npz", (3, 8))
    nodes = {"data-path": tmp_path / "a.npz"}, {"site": tmp_path / "s"}
    with pytest.raises(RunFailedError, match=r"None of 2 nodes .*\(DataError, NoSiteFolderError\).*site=\"FOLDER\""):
        published(grid_of(*nodes), best, tmp_path / "bad", wait_timeout=3600.0)
    assert result_in(tmp_path / "bad")["failed"] == 2
    assert not (tmp_path / "s").exists()


def test_nodes_that_connect_within_the_wait_are_served(best: Path, tmp_path: Path) -> None:
    save_digits(tmp_path / "a.npz", (3, 8))
    nodes = [{"client-name": n, "data-path": tmp_path / "a.npz", "site": tmp_path / n} for n in ("a", "b")]
    grid, looks = grid_of(nodes[0]), []

    def late() -> list[int]:
        looks.append(len(grid.contexts))
        if len(looks) == 3:
            grid.add_node({key: str(value) for key, value in nodes[1].items()})
        return list(grid.contexts)

    grid.get_node_ids = late  # type: ignore[method-assign]
    result = published(grid, best, tmp_path / "out", min_results=2, wait_timeout=20.0)
    assert [row["client"] for row in result["sites"]] == ["a", "b"]
    assert len(looks) >= 3


def test_a_silent_node_is_given_up(best: Path, tmp_path: Path) -> None:
    save_digits(tmp_path / "a.npz", (3, 8))
    nodes = [{"client-name": n, "data-path": tmp_path / "a.npz", "site": tmp_path / n} for n in ("a", "b")]
    answered: list[Message] = []

    def lose_second(message: Message, index: int, reply: Message) -> Message | None:
        answered.append(reply)
        return reply if len(answered) == 1 else None

    result = published(grid_of(*nodes, tamper=lose_second), best, tmp_path / "out", round_timeout=0.3)
    assert result["onboarded"] == 1
    assert "no answer within 0.3 s" in [row.get("error") for row in result["sites"]]


@pytest.mark.parametrize("changed", [MODEL, MODEL_HASH])
def test_an_altered_model_is_refused_and_the_site_stays(changed: str, model: TrainedModel, tmp_path: Path) -> None:
    node = {"client-name": "w", "data-path": str(save_digits(tmp_path / "a.npz", (3, 8))), "site": str(tmp_path / "s")}
    assert not ask(model, node).has_error()
    before = hashlib.sha256((tmp_path / "s" / TENSORS).read_bytes()).digest()
    altered = str(publication(model)[changed]).translate(str.maketrans("0123456789", "1234567890"))
    reply = ask(model, node, {changed: altered})
    assert reply.has_error()
    assert (reply.error.code, reply.error.reason) == (2, "AlteredModelError")
    assert hashlib.sha256((tmp_path / "s" / TENSORS).read_bytes()).digest() == before


def test_the_temperature_travels_with_the_model(model: TrainedModel, tmp_path: Path) -> None:
    save_digits(tmp_path / "a.npz", (3, 8))
    node = {"data-path": str(tmp_path / "a.npz"), "site": str(tmp_path / "site")}
    for temperature, outcome in ((1.0, "created"), (0.2, "refreshed"), (0.2, "unchanged")):
        reply = ask(replace(model, temperature=temperature), node)
        assert json.loads(str(reply.content[CONFIG][ONBOARDED]))["outcome"] == outcome
        assert SavedSite.load(tmp_path / "site").model.temperature == temperature
    # A server of a former version says nothing of it.
    fields = publication(model)
    text = json.dumps({key: value for key, value in json.loads(fields[MODEL]).items() if key != "temperature"})
    fields |= {MODEL: text, MODEL_HASH: hash_of(text, model.vector)}
    assert published_model(fields, model.vector).temperature == 1


def test_an_altered_vector_is_refused(model: TrainedModel) -> None:
    fields, vector = publication(model), model.vector.copy()
    assert published_model(fields, vector).participants == model.participants
    vector[5] += 1e-3
    with pytest.raises(DataError, match="changed on its way"):
        published_model(fields, vector)
    with pytest.raises(DataError, match="no model"):
        published_model(fields, None)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"data-path": "x.npz"}, "NoSiteFolderError"),
        ({"data-path": "x.npz", "site": " "}, "NoSiteFolderError"),
        ({"data-path": "/no/such.npz", "site": "s"}, "DataError"),
        ({"site": "s"}, "DataError"),
        ({"partition-id": "zero", "site": "s"}, "ConfigError"),
        ({"data-path": "x.npz", "site": "s", "client-name": "a\nb"}, "ConfigError"),
    ],
)
def test_mistakes_in_a_node_config_have_codes(node: dict, reason: str, model: TrainedModel, tmp_path: Path) -> None:
    reply = ask(model, {k: str(tmp_path / v) if k == "site" and v.strip() else v for k, v in node.items()})
    assert reply.has_error()
    assert reply.error.reason == reason


def test_a_folder_in_use_is_left_alone(best: Path, model: TrainedModel, tmp_path: Path) -> None:
    data = save_digits(tmp_path / "a.npz", (3, 8))
    (tmp_path / "used").mkdir()
    (tmp_path / "used/notes.txt").write_text("mine")
    reply = ask(model, {"data-path": str(data), "site": str(tmp_path / "used")})
    assert reply.has_error()
    assert reply.error.reason == "ArtefactError"
    for out in (best.parent, tmp_path / "again"):
        out.mkdir(exist_ok=True)
        if out.name == "again":
            (out / "onboarded.json").write_text("{}")
        with pytest.raises(ArtefactError, match=r"already holds|is not empty"):
            published(grid_of(), best, out)
    with pytest.raises(ArtefactError, match="no model"):
        published(grid_of(), tmp_path, tmp_path / "out")


def test_answers_that_cannot_be_true_are_refused(model: TrainedModel) -> None:
    good = OnboardReply("w", 4, ("3",), None, "created", model.sha256, 0.5)
    config, metrics = good.to_wire()
    assert OnboardReply.from_wire(config, metrics, model) == good
    for changes in (
        {"samples": 0},
        {"samples": None},
        {"classes": ["cat"]},
        {"classes": []},
        {"outcome": "fine"},
        {"model_sha256": "0"},
        {"seconds": float("nan")},
        {"name": "a\nb"},
        {"name": "a" * 101},
    ):
        text = json.dumps(json.loads(config[ONBOARDED]) | changes)
        with pytest.raises(DataError):
            OnboardReply.from_wire({ONBOARDED: text}, {}, model)
    with pytest.raises(DataError, match="malformed"):
        OnboardReply.from_wire({ONBOARDED: "[]"}, {}, model)


def test_the_key_is_taken_out_of_the_run_config() -> None:
    flat: dict[str, Any] = {"publish": "run/best", "rounds": 3}
    assert take_publish(flat) == "run/best"
    assert flat == {"rounds": 3}
    assert take_publish(flat) == ""
    with pytest.raises(ConfigError, match="not a text"):
        take_publish({"publish": 3})


def test_any_number_of_sites_can_be_waited_for() -> None:
    settings = waiting_settings(Settings(wait_timeout=7.0).to_run_config() | {"min-results": 300})
    assert (settings.min_results, settings.wait_timeout) == (300, 7.0)
    with pytest.raises(ConfigError, match="min-results"):
        waiting_settings({"min-results": 0})
