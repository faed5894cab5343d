"""Snapshots of made state folders: empty, at rest, with a run under way, killed, damaged."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pfedgp.dashboard.watch import Watch
from pfedgp.operator.state import ServerState
from tests.pfedgp.dashboard.made_state import EVIL, MadeServer, busy, made_run, published, record, run_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def look(server: MadeServer) -> dict[str, Any]:
    return Watch(server.state).look()


def texts(snapshot: dict[str, Any], topic: str = "") -> list[str]:
    return [item["text"] for item in snapshot["attention"] if topic in ("", item["topic"])]


def test_an_empty_folder_says_that_no_server_has_run(tmp_path: Path) -> None:
    snapshot = Watch(ServerState(tmp_path)).look()
    assert snapshot["headline"] == {"level": "broken", "text": f"No server has run on {tmp_path} yet."}
    assert (snapshot["sites"], snapshot["runs"], snapshot["server"]["running"]) == ([], [], False)
    assert list(tmp_path.iterdir()) == []


def test_a_server_at_rest_with_all_sites_is_well(server: MadeServer) -> None:
    snapshot = look(server.start())
    assert snapshot["attention"] == []
    words = "All is well: 3 of 3 sites connected, no run under way."
    assert snapshot["headline"] == {"level": "ok", "text": words}
    assert [site["name"] for site in snapshot["sites"] if site["connected"]] == ["ward-1", "ward-2", "ward-3"]
    assert [row["name"] for row in snapshot["certificates"]] == ["server.crt", "ca.crt"]


def test_a_run_under_way_has_its_progress(server: MadeServer) -> None:
    server.start().live_run(done=12)
    snapshot = look(server)
    (run,) = snapshot["runs"]
    assert (run["name"], run["status"], run["live"], run["round"], run["rounds"]) == ("night", "running", True, 12, 60)
    assert (run["round_seconds"], run["seconds_left"]) == (4.0, 48 * 4.0)
    assert (run["score"], run["score_name"]) == (pytest.approx(0.86), "validation_accuracy")
    assert [point["round"] for point in run["history"]] == list(range(1, 13))
    assert snapshot["headline"]["text"] == "All is well: 3 of 3 sites connected, run night at round 12 of 60."


def test_rounds_are_read_as_they_come_and_anew_after_a_resume(server: MadeServer) -> None:
    path, watch = server.start().live_run(done=2) / "metrics.jsonl", Watch(server.state)
    assert watch.look()["runs"][0]["round"] == 2
    third = json.dumps(record(3)) + "\n"
    with path.open("a") as file:
        file.write(third[:40])
    assert watch.look()["runs"][0]["round"] == 2
    with path.open("a") as file:
        file.write(third[40:])
    assert watch.look()["runs"][0]["round"] == 3
    # A resume cuts the file, and may write more than there was before the next look.
    path.write_text("".join(json.dumps(record(t, 0.25)) + "\n" for t in (1, 2, 3, 4)))
    (run,) = watch.look()["runs"]
    assert (run["round"], run["score"]) == (4, 0.25)
    assert [point["round"] for point in run["history"]] == [1, 2, 3, 4]


def test_a_killed_server_is_named_with_the_command_that_starts_it(server: MadeServer) -> None:
    server.start().live_run()
    server.stop()
    snapshot = look(server)
    assert snapshot["headline"]["level"] == "broken"
    assert snapshot["headline"]["text"].startswith("The server does not run.")
    assert f"pfedgp server --state {server.state.path} --certs {server.certs}" in snapshot["attention"][0]["remedy"]
    assert [site["connected"] for site in snapshot["sites"]] == [False] * 3
    (run,) = snapshot["runs"]
    assert (run["status"], run["round"], run["live"]) == ("cut off", 12, False)
    assert texts(snapshot, "runs") == ["The run night was cut off."]


def test_a_server_that_does_not_answer_keeps_what_the_folder_says(server: MadeServer) -> None:
    server.start().live_run()
    server.silent = True
    snapshot = look(server)
    assert "does not answer" in snapshot["headline"]["text"]
    assert [site["connected"] for site in snapshot["sites"]] == [None] * 3
    assert [(run["name"], run["status"]) for run in snapshot["runs"]] == [("night", "running")]


def test_a_server_that_starts_is_not_said_to_be_well(server: MadeServer) -> None:
    (server.start().state.path / "server.json").unlink()
    snapshot = look(server)
    assert snapshot["headline"]["level"] == "attention"
    assert texts(snapshot, "server") == ["The server starts, and does not say yet where it answers."]


@pytest.mark.parametrize(
    ("done", "ago", "words"),
    [
        (0, 250, ""),
        (0, 400, "has had no round for 7 min"),
        (3, 100, ""),
        (3, 200, "no new round for 3 min; one takes 4 s"),
    ],
)
def test_a_run_that_stands_still_is_named(done: int, ago: float, words: str, server: MadeServer) -> None:
    path = server.start().live_run(done=done)
    for file in path.iterdir():
        os.utime(file, (time.time() - ago,) * 2)
    found = texts(look(server), "runs")
    assert len(found) == bool(words)
    assert words in "".join(found)


def test_a_publication_has_no_rounds(server: MadeServer) -> None:
    path = published(server.start().state.runs / "given")
    server.runs = [run_of(path, publish="/runs/first/best")]
    (run,) = look(server)["runs"]
    assert (run["kind"], run["rounds"], run["live"]) == ("publication", None, True)


def test_the_folder_of_another_state_reads_as_such(server: MadeServer) -> None:
    made_run(server.state.runs / "alone", 3)
    published(server.state.runs / "given")
    snapshot = look(server.start())
    assert {(run["name"], run["kind"], run["status"]) for run in snapshot["runs"]} == {
        ("alone", "training", "cut off"),
        ("given", "publication", "completed"),
    }


def test_what_happened_needs_attention_in_the_order_of_its_weight(server: MadeServer) -> None:
    server.start()
    busy(server)
    snapshot = look(server)
    assert texts(snapshot) == [
        "1 site is not connected: ward-3.",
        f"Without a usable reply in round 13 of night: ward-2 (timeout), {EVIL} (update of 77 times the usual norm).",
        (
            f"{EVIL} cannot take part in night: {EVIL} has inputs of shape 7, most sites 5: give all tables the same "
            "columns."
        ),
        "1 site did not take the model of first: ward-2.",
    ]
    assert snapshot["headline"]["text"].startswith("4 things need attention: 3 of 4 sites connected")
    kinds = [(row["kind"], row["site"]) for row in snapshot["refusals"] if row["run"] == "night"]
    assert kinds == [("refused", EVIL), ("training", EVIL), ("training", "ward-2"), ("shortened", "ward-2")]


def test_a_refused_site_that_took_part_since_needs_none(server: MadeServer) -> None:
    server.start()
    busy(server)
    with (server.state.runs / "night/metrics.jsonl").open("a") as file:
        file.write(json.dumps(record(14) | {"sampled": [EVIL]}) + "\n")
    assert texts(look(server), "refusals") == []


def test_a_failed_run_is_named_until_a_later_one_is_there(server: MadeServer) -> None:
    server.start()
    path = made_run(server.state.runs / "bad", 3, status="failed", reason="No site was left for 600 s.")
    server.runs = [run_of(path, "finished:failed", 1)]
    assert texts(look(server)) == ["The run bad failed: No site was left for 600 s."]
    good = made_run(server.state.runs / "good", 60, status="completed", accuracy=0.9)
    server.runs.insert(0, run_of(good, "finished:completed", 2))
    assert look(server)["headline"]["level"] == "ok"


def test_a_resumed_run_is_one_row(server: MadeServer) -> None:
    path = server.start().live_run()
    server.runs.append(run_of(path, "finished:failed", 1))
    (run,) = look(server)["runs"]
    assert (run["status"], run["resumed"]) == ("running", 1)


@pytest.mark.parametrize(
    ("days", "level", "words"),
    [(29, "attention", "server.crt expires in 28 days"), (400, "ok", "All is well")],
)
def test_a_certificate_that_ends_soon_is_named(
    days: int, level: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MadeServer(tmp_path / "other", monkeypatch, days).start()
    snapshot = look(made)
    assert snapshot["headline"]["level"] == level
    assert words in "".join([snapshot["headline"]["text"], *texts(snapshot)])
    made.stop()


DAMAGES = ["", "{", "[1]", '{"status": []}', "\x00\xff", '{"a": ' * 100, "NaN"]


@pytest.mark.parametrize("content", DAMAGES, ids=range(len(DAMAGES)))
@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "summary.json", "config.toml", "onboarded.json", "evaluation.json", "refusals.jsonl"]
)
def test_damaged_files_of_a_run_end_nothing(name: str, content: str, server: MadeServer) -> None:
    path = server.start().live_run()
    (path / name).write_text(content + "\n", encoding="latin-1")
    snapshot = look(server)
    assert snapshot["runs"][0]["name"] == "night"
    json.dumps(snapshot, allow_nan=False)


def test_a_damaged_line_is_named_and_the_others_count(server: MadeServer) -> None:
    path = server.start().live_run(done=2)
    with (path / "metrics.jsonl").open("a") as file:
        file.write('{"round": 3, "failed": 7}\n{"round": "x"}\n' + json.dumps(record(4)) + "\n")
    snapshot = look(server)
    assert snapshot["runs"][0]["round"] == 4
    assert texts(snapshot) == ["A file of night cannot be read (metrics.jsonl: 2 lines are no records of rounds)."]


@pytest.mark.parametrize(
    "content", ["{", '{"processes": 3}', '{"started": "never"}', '{"control_address": "nonsense", "ca": 3}']
)
def test_a_damaged_record_of_the_server_is_named(content: str, server: MadeServer) -> None:
    (server.start().state.path / "server.json").write_text(content)
    snapshot = look(server)
    assert snapshot["headline"]["level"] == "broken"
    assert "server.json is damaged" in snapshot["headline"]["text"]


@pytest.mark.parametrize("content", ["", "{", '{"certs": "/nowhere"}'])
def test_a_server_in_another_container_is_asked_whatever_its_record_says(content: str, server: MadeServer) -> None:
    (server.state.path / "server.json").write_text(content)
    snapshot = Watch(server.state, "control:8000", server.certs / "ca.crt").look()
    assert [site["connected"] for site in snapshot["sites"]] == [True] * 3
    assert (snapshot["server"]["running"], snapshot["server"]["answers"]) == (None, True)
    assert "ca.crt" in [row["name"] for row in snapshot["certificates"]]


def test_a_site_whose_key_is_new_is_said_to_be_unregistered(server: MadeServer) -> None:
    server.start().nodes.pop()
    snapshot = look(server)
    assert texts(snapshot) == ["Not registered yet: ward-3."]
    assert [site["registered"] for site in snapshot["sites"]] == [True, True, False]


def test_looking_changes_nothing(server: MadeServer) -> None:
    server.start()
    busy(server)
    before = {path: path.stat().st_mtime_ns for path in server.state.path.parent.rglob("*")}
    look(server)
    assert {path: path.stat().st_mtime_ns for path in server.state.path.parent.rglob("*")} == before
