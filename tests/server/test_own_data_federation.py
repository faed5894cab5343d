"""A federation of sites with their own data: one class list, one normalisation, late, foreign and returning sites."""

import csv
import logging
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from client import own_site as own_site_module
from pfedgp_core.config import Settings
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.wire.names import CONFIG, HELLO
from server.clients import waiting
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.run.model_file import load_model
from tests.fakegrid import Tamper
from tests.federation_run import QUICK, start
from tests.own_sites import DIGITS, IMAGES, OwnGrid, archive, image_folder, rows_of, table, vector_archive

OWN = Settings(
    clients_per_round=3,
    min_clients=3,
    rounds=6,
    evaluate_every=3,
    learning_rate=0.1,
    wait_timeout=20.0,
    personalise=False,
    gp=QUICK,
)


@pytest.fixture(autouse=True)
def fresh_sites() -> None:
    """Each test is a new process as far as data in memory go."""
    own_site_module.own_site.cache_clear()


def three_image_sites(root: Path) -> dict[str, Path]:
    """A folder of images, an archive, and an archive in parts; their digits overlap in part."""
    parts = root / "parts"
    parts.mkdir()
    rows = np.random.default_rng(0).permutation(rows_of(4, 5, 6, 7, part=2))
    for name, chosen in zip(("train", "val", "test"), np.split(rows, [140, 190]), strict=True):
        archive(parts / f"{name}.npz", chosen)
    return {
        "ward-a": image_folder(root / "images", rows_of(0, 1, 2, 3, part=0)),
        "ward-b": archive(root / "b.npz", rows_of(2, 3, 4, 5, part=1)),
        "ward-c": parts,
    }


def test_three_sites_of_three_kinds_learn_together(tmp_path: Path) -> None:
    run = start(OwnGrid(three_image_sites(tmp_path), state=""), OWN, tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert [record["ok"] for record in run.records] == [3] * 6
    # Each site has four classes, so chance is a quarter.
    assert run.summary["accuracy"] > 0.8
    _, meta = load_model(tmp_path / "run" / "final")
    assert meta["class_names"] == [f"d{i}" for i in range(8)] and meta["input_shape"] == [1, 8, 8]
    assert meta["clients"] == ["ward-a", "ward-b", "ward-c"]


def test_tables_and_vectors_learn_together(tmp_path: Path) -> None:
    sites = {
        "lab-1": table(tmp_path / "one.csv", rows_of(0, 1, 2, part=0)),
        "lab-2": vector_archive(tmp_path / "two.npz", rows_of(1, 2, 3, part=1)),
        "lab-3": table(tmp_path / "three.csv", rows_of(0, 3, part=2)),
    }
    run = start(OwnGrid(sites), OWN, tmp_path / "run")
    assert run.summary["accuracy"] > 0.8
    assert load_model(tmp_path / "run" / "final")[1]["input_shape"] == [64]


def test_images_are_resized_to_the_setting(tmp_path: Path) -> None:
    small, large = image_folder(tmp_path / "s", rows_of(0, 1)), image_folder(tmp_path / "l", rows_of(1, 2), size=12)
    with pytest.raises(RunFailedError, match=r"different shapes \(l: 1 x 12 x 12, s: 1 x 8 x 8\): set input-shape"):
        wait_for_clients(Roster(OWN.replace(min_clients=2)), OwnGrid({"s": small, "l": large}))
    roster = Roster(OWN.replace(min_clients=2, input_shape="3,10,10"))
    wait_for_clients(roster, OwnGrid({"s": small, "l": large}))
    assert roster.spec.input_shape == (3, 10, 10) and len(roster.spec.mean) == 3


def test_the_normalisation_is_that_of_all_training_samples_together(tmp_path: Path) -> None:
    grid = OwnGrid(three_image_sites(tmp_path))
    roster = Roster(OWN)
    wait_for_clients(roster, grid)
    config = [grid.contexts[client.node_id].node_config for client in roster.all]
    parts = [
        own_site_module.own_site(own_site_module.Source.of(OWN, node)).loaded().parts["train"].inputs for node in config
    ]
    assert sorted(len(part) for part in parts) == sorted(client.hello.n_train for client in roster.all)
    mean, std = input_statistics(np.concatenate(parts))
    assert roster.spec.mean == pytest.approx(mean.tolist(), rel=1e-6)
    assert roster.spec.std == pytest.approx(std.tolist(), rel=1e-6)


def test_a_site_with_a_class_that_the_server_s_list_lacks_is_told_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "site.log"))
    sites = three_image_sites(tmp_path)
    sites["ward-d"] = archive(tmp_path / "d.npz", rows_of(0, 9))
    settings = OWN.replace(class_names="d0, d1,d2,d3,d4,d5,d6,d7", rounds=2)
    run = start(OwnGrid(sites), settings, tmp_path / "run")
    assert run.summary["clients"] == 3
    server = [r.getMessage() for r in caplog.records if r.name == "pfedgp.server"]
    assert any("ward-d does not fit: The class 'd9' is none of the federation's 8 classes (d0, d1" in m for m in server)
    assert "this site cannot take part: The class 'd9'" in (tmp_path / "site.log").read_text()
    assert load_model(tmp_path / "run" / "final")[1]["class_names"] == [f"d{i}" for i in range(8)]


def test_the_class_list_of_a_site_maps_to_the_federation_s_by_position(tmp_path: Path) -> None:
    rows = rows_of(1, 2)
    np.savez(tmp_path / "n.npz", images=IMAGES[rows], labels=DIGITS[rows])
    grid = OwnGrid({"n": tmp_path / "n.npz", "w": archive(tmp_path / "w.npz", rows_of(0, 1, part=1))})
    roster = Roster(OWN.replace(min_clients=2, class_names="d0,d1,d2"))
    wait_for_clients(roster, grid)
    assert {c.name: c.hello.classes for c in roster.all} == {"n": (1, 2), "w": (0, 1)}
    assert all(c.hello.class_names == ("d0", "d1", "d2") for c in roster.all)


def named_archive(path: Path, *names: str, part: int = 0) -> Path:
    """Some digits, with these names of classes in the order of the digits."""
    rows = rows_of(*range(len(names)), part=part)
    np.savez(path, images=IMAGES[rows], labels=np.array(names)[DIGITS[rows]])
    return path


@pytest.mark.parametrize(
    ("mine", "theirs", "class_names", "warning"),
    [
        (("zero", "thre"), ("zero", "three"), "", "'thre' (ward-3) and 'three' (ward-2)"),
        (("zero", "three"), ("zero", "Three"), "", "'Three' (ward-2) and 'three' (ward-3)"),
        (("thre", "three"), ("zero", "three"), "", ""),  # ward-3 has both
        (("stage1", "other"), ("stage2", "different"), "", ""),
        (("10000", "10001"), ("10002", "10003"), "", ""),
        (("cat", "zero"), ("car", "zero"), "", ""),
        (("zero", "thre"), ("zero", "three"), "zero,thre,three", ""),
    ],
)
def test_classes_of_different_sites_that_are_nearly_the_same_are_named_before_training(
    mine: tuple[str, ...],
    theirs: tuple[str, ...],
    class_names: str,
    warning: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sites = {
        "ward-3": named_archive(tmp_path / "mine.npz", *mine),
        "ward-2": named_archive(tmp_path / "theirs.npz", *theirs, part=1),
    }
    wait_for_clients(Roster(OWN.replace(min_clients=2, class_names=class_names)), OwnGrid(sites))
    said = [r.getMessage() for r in caplog.records if "nearly the same classes" in r.getMessage()]
    assert len(said) == bool(warning)
    assert all(warning in sentence for sentence in said)


class Timeline(OwnGrid):
    """Does something before the train requests of given rounds."""

    def __init__(self, sites: dict[str, Path], tamper: Tamper | None = None) -> None:
        super().__init__(sites, tamper)
        self.plan: dict[int, Callable[[], object]] = {}

    def push_messages(self, messages):
        messages = list(messages)
        if messages and messages[0].metadata.message_type == "train":
            self.plan.get(messages[0].content[CONFIG]["round"], lambda: None)()
        return super().push_messages(messages)


def test_late_joiners_map_to_the_frozen_list_or_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sites = three_image_sites(tmp_path)
    grid = Timeline(sites)

    def join() -> None:
        grid.add_site("late", archive(tmp_path / "late.npz", rows_of(1, 6)))
        grid.add_site("alien", archive(tmp_path / "alien.npz", rows_of(1, 8)))

    grid.plan = {1: join}
    caplog.set_level(logging.INFO, "pfedgp")
    run = start(grid, OWN.replace(rounds=3, clients_per_round=4), tmp_path / "run")
    assert [record["ok"] for record in run.records] == [3, 4, 4]
    assert run.summary["clients"] == 4
    assert "late joins" in caplog.text and "alien does not fit: The class 'd8'" in caplog.text
    (row,) = [row for row in csv.DictReader((tmp_path / "run" / "clients.csv").open()) if row["name"] == "late"]
    assert row["classes"] == "d1;d6"


def test_a_silent_site_costs_one_timeout_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.clients.answering.SILENT_GREETING", 0.05)
    caplog.set_level(logging.INFO, "pfedgp")
    stopped = {"now": False}

    def swallow(request: Message, index: int, reply: Message) -> Message | None:
        return None if stopped["now"] and index == 1 else reply

    grid = Timeline(three_image_sites(tmp_path), swallow)
    # Greetings live at least 0.05 s, and GRACE beyond, so they are short here.
    monkeypatch.setattr("server.clients.greetings.GRACE", 0.0)
    grid.plan = {
        2: lambda: stopped.update(now=True),
        5: lambda: stopped.update(now=False),
        6: lambda: time.sleep(1.0),  # longer than its last greeting lives
    }
    run = start(grid, OWN.replace(rounds=7, evaluate_every=7, round_timeout=5.0), tmp_path / "run")
    sampled = [record["sampled"] for record in run.records]
    assert sampled[1] == ["ward-a", "ward-b", "ward-c"] and run.records[1]["failed"].keys() == {"ward-b"}
    assert sampled[2] == sampled[3] == ["ward-a", "ward-c"]
    assert "ward-b" in sampled[6]
    assert "ward-b is silent" in caplog.text and "ward-b is back" in caplog.text


@pytest.mark.parametrize("lost", [2, 10**6])
def test_the_end_of_a_run_waits_a_while_for_a_site_that_has_just_come_back(
    lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.clients.answering.SILENT_GREETING", 0.05)
    monkeypatch.setattr("server.clients.greetings.GRACE", 0.0)
    monkeypatch.setattr(waiting, "RETURN_PATIENCE", 20.0 if lost == 2 else 0.3)
    left = {"to lose": 0}

    def lose(request: Message, index: int, reply: Message) -> Message | None:
        left["to lose"] -= index == 1
        return None if index == 1 and left["to lose"] >= 0 else reply

    grid, roster = OwnGrid(three_image_sites(tmp_path), lose), Roster(OWN)
    wait_for_clients(roster, grid)
    waiting.wait_for_returning(roster, grid)
    node = roster.clients["ward-b"].node_id
    context = grid.contexts.pop(node)
    waiting.wait_for_returning(roster, grid)  # nobody who is away is waited for
    assert roster.missing() == ["ward-b"] and not roster.returning()
    grid.contexts[node], left["to lose"] = context, lost
    waiting.wait_for_returning(roster, grid)
    assert (roster.missing(), roster.returning()) == (([], []) if lost == 2 else (["ward-b"], ["ward-b"]))


def test_failures_in_a_row_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    roster = Roster(OWN)
    for _ in range(2):
        roster.answering.failed("ward-b", "DataError", anew=True)
    assert "ward-b" not in caplog.text
    roster.answering.succeeded("ward-b")
    for _ in range(5):
        roster.answering.failed("ward-b", "DataError", anew=True)
    assert caplog.text.count("ward-b failed 3 times in a row (last: DataError)") == 1
    assert roster.answering.failures("ward-b") == 5


def test_a_checkpoint_brings_back_the_federation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "RESUME_PATIENCE", 0.3)
    caplog.set_level(logging.INFO, "pfedgp")
    sites = three_image_sites(tmp_path)
    before = Roster(OWN)
    wait_for_clients(before, OwnGrid(sites))
    before.clients["ward-a"].trained_in.append(4)
    state = before.to_state()
    del sites["ward-c"]
    after = Roster(OWN)
    after.adopt_state(state)
    assert after.spec == before.spec and after.missing() == ["ward-a", "ward-b", "ward-c"]
    wait_for_clients(after, OwnGrid(sites))
    assert [client.name for client in after.online()] == ["ward-a", "ward-b"]
    assert after.clients["ward-a"].trained_in == [4]
    assert [c.hello for c in after.all] == [c.hello for c in before.all]
    assert "going on without ward-c" in caplog.text


def test_too_few_sites_end_the_wait_with_their_names(tmp_path: Path) -> None:
    grid = OwnGrid(three_image_sites(tmp_path))
    roster = Roster(OWN.replace(wait_timeout=0.4))
    wait_for_clients(roster, grid)
    grid.offline = {0, 1, 2}
    with pytest.raises(RunFailedError, match=r"0 of 1 clients are ready after 0.4 s.*missing: ward-a, ward-b, ward-c"):
        wait_for_clients(roster, grid)


def test_the_log_says_how_long_a_run_waits_and_how_to_start_without_the_missing_sites(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "WAITING_LOG_INTERVAL", 0.2)
    caplog.set_level(logging.INFO, "pfedgp")
    grid, settings = OwnGrid(three_image_sites(tmp_path)), OWN.replace(wait_timeout=0.6, min_clients=5)
    with pytest.raises(RunFailedError, match="3 of 5 clients are ready"):
        wait_for_clients(Roster(settings), grid)
    assert "(ward-a, ward-b, ward-c); the run ends in 1 s unless 2 more can take part; to start with 3," in caplog.text
    assert "--set min-clients=3" in caplog.text
    wait_for_clients(Roster(settings.replace(min_clients=3)), grid)  # so it does

    caplog.clear()
    with pytest.raises(RunFailedError, match="3 of 5 clients are ready"):
        wait_for_clients(Roster(settings.replace(clients_per_round=4, min_results=4)), grid)
    assert "unless 2 more" in caplog.text
    assert "--set" not in caplog.text  # no round would have min-results replies


def test_a_site_whose_data_changed_presents_itself_anew(tmp_path: Path) -> None:
    sites = three_image_sites(tmp_path)
    grid, roster = OwnGrid(sites), Roster(OWN)
    wait_for_clients(roster, grid)
    before = roster.clients["ward-b"].hello
    archive(sites["ward-b"], rows_of(2, 3, 4, 5, of=2, part=1))
    roster.answering.failed("ward-b", "DataError", anew=True)
    wait_for_clients(roster, grid)
    assert roster.clients["ward-b"].hello.n_train > before.n_train
    assert "ward-b" in [client.name for client in roster.online()]


def test_own_data_and_a_simulation_do_not_mix(tmp_path: Path) -> None:
    grid = OwnGrid({"ward-b": archive(tmp_path / "b.npz", rows_of(0, 1))})
    node = grid.add_node({"partition-id": 0, "num-partitions": OWN.participants})
    grid.names[node] = "z"
    with pytest.raises(RunFailedError, match="do not share one partition"):
        wait_for_clients(Roster(OWN.replace(min_clients=2)), grid)


def test_two_sites_of_one_name_are_told_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = OwnGrid({"ward-b": archive(tmp_path / "b.npz", rows_of(0, 1))})
    grid.add_site("ward-b", tmp_path / "b.npz")
    roster = Roster(OWN.replace(min_clients=1, clients_per_round=1))
    wait_for_clients(roster, grid)
    assert len(roster.all) == 1 and "Two connected clients are named 'ward-b'" in caplog.text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mean": [0.1, 0.2]}, "moments that do not fit"),
        ({"n_train": 10**12}, "implausible sample count"),
        ({"std": [-1.0]}, "malformed hello"),
        ({"mean": [float("nan")]}, "malformed hello"),
        ({"class_names": ["a\nb"], "classes": [0]}, "unprintable"),
    ],
)
def test_a_greeting_that_would_spoil_the_normalisation_is_refused(
    changes: dict, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pfedgp_core.wire.hello import Hello

    honest = Hello.to_wire
    monkeypatch.setattr(Hello, "to_wire", lambda self: honest(self.__class__(**(self.__dict__ | changes))))
    with pytest.raises(RunFailedError, match=reason):
        wait_for_clients(
            Roster(OWN.replace(wait_timeout=0.2)), OwnGrid({"w": archive(tmp_path / "b.npz", rows_of(0, 1))})
        )
    assert HELLO  # greetings are what is refused


def test_one_class_in_all_is_nothing_to_learn(tmp_path: Path) -> None:
    grid = OwnGrid({"w": archive(tmp_path / "b.npz", rows_of(3))})
    with pytest.raises(RunFailedError, match="only the class 'd3'"):
        wait_for_clients(Roster(OWN.replace(min_clients=1, clients_per_round=1)), grid)


@pytest.mark.parametrize("setting", [{"class_names": "a,,b"}, {"class_names": "a,a"}, {"input_shape": "3x32"}])
def test_settings_that_cannot_be_read_end_before_anybody_is_greeted(setting: dict) -> None:
    with pytest.raises(ConfigError):
        Roster(OWN.replace(**setting))


def test_a_regression_on_own_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        x = rng.normal(size=(90, 3))
        y = x @ [2.0, -1.0, 0.5] + 10
        lines = [",".join(f"{v:.6f}" for v in (*row, target)) for row, target in zip(x, y, strict=True)]
        (tmp_path / f"{name}.csv").write_text("u,v,w,label\n" + "\n".join(lines) + "\n")
    settings = OWN.replace(task="regression", clients_per_round=2, min_clients=2)
    run = start(OwnGrid({n: tmp_path / f"{n}.csv" for n in "ab"}), settings, tmp_path / "run")
    assert run.summary["status"] == "completed" and run.summary["rmse"] < 1.5
