"""The console report: one ASCII line a round, aligned tables, the path last."""

import io
from pathlib import Path
from typing import Any

import pytest

from pfedgp_core.config import Settings
from server.report.console import ConsoleReporter
from server.run.origin import Origin

RECORD: dict[str, Any] = {
    "round": 5,
    "sampled": ["client-00", "client-07"],
    "ok": 2,
    "failed": {},
    "train_loss": 0.1234,
    "validation_accuracy": 0.969,
    "validation_ece": 0.01,
    "best": False,
    "counters": {},
    "bytes_sent": 10,
    "bytes_received": 20,
    "seconds": {"round": 0.41, "train": 0.3, "evaluate": 0.1, "network": 0.0, "gp": 0.2, "eta": 20.0},
}
ROW: dict[str, Any] = {
    "name": "client-00",
    "classes": ["3", "8"],
    "n_train": 120,
    "n_test": 30,
    "rounds_trained": 4,
    "last_trained_round": 59,
    "accuracy": 0.9667,
    "nll": 0.12,
    "ece": 0.034,
    "brier": 0.05,
}
SUMMARY: dict[str, Any] = {
    "status": "completed",
    "accuracy": 0.97,
    "ece": 0.012,
    "mce": 0.2,
    "nll": 0.1,
    "brier": 0.05,
    "rounds": 60,
    "clients": 20,
    "best_round": 45,
    "seconds": 31.0,
}


DIGITS = Origin.of(Settings(), 0)


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def reporter(out: io.StringIO) -> ConsoleReporter:
    reporter = ConsoleReporter(out)
    reporter.start(Settings(), 20, Path("/runs/a"), DIGITS)
    out.truncate(0)
    out.seek(0)
    return reporter


def test_start_shows_the_effective_settings(out: io.StringIO) -> None:
    ConsoleReporter(out).start(Settings(seed=42, network="mlp"), 20, Path("/runs/a"), DIGITS)
    lines = out.getvalue().splitlines()
    assert lines[0] == "pFedGP"
    assert lines[-1] == "`-- folder   /runs/a"
    assert all(line.startswith("|-- ") for line in lines[1:-1])
    assert "|-- seed     42" in lines
    assert "network mlp" in out.getvalue()


def test_start_names_the_method_and_its_gp(out: io.StringIO) -> None:
    ConsoleReporter(out).start(Settings(), 20, Path("/runs/a"), DIGITS)
    assert "|-- method   pfedgp\n|-- model    full GP, predictive objective" in out.getvalue()


def test_start_says_that_a_shared_head_is_trained_without_momentum(out: io.StringIO) -> None:
    settings = Settings.from_run_config({"gp.prior-mean": "head", "objective": "softmax"})
    ConsoleReporter(out).start(settings, 20, Path("runs/x"), DIGITS)
    assert "learning rate 0.05, no momentum\n" in out.getvalue()


def test_start_tells_no_gp_of_a_method_without_one(out: io.StringIO) -> None:
    ConsoleReporter(out).start(Settings(method="fedavg"), 20, Path("/runs/a"), DIGITS)
    assert "|-- method   fedavg\n|-- model    network auto, 84 features\n|-- update" in out.getvalue()


def test_a_good_round_is_one_line(reporter: ConsoleReporter, out: io.StringIO) -> None:
    reporter.round(RECORD)
    assert (
        out.getvalue()
        == "round  5/60  2 ok  0 failed  loss 0.123  val acc 96.9 %  ece 0.010  0.41 s  out 10 B  in 20 B  ETA 18 s\n"
    )


def test_a_slow_round_does_not_change_the_estimate(reporter: ConsoleReporter, out: io.StringIO) -> None:
    reporter.resume(6, [RECORD | {"round": t, "seconds": {"round": 1.0}} for t in range(1, 7)])
    for t, seconds in ((7, 60.0), (8, 1.0), (9, 1.0)):
        reporter.round(RECORD | {"round": t, "seconds": {"round": seconds}})
    assert [line.partition("ETA ")[2] for line in out.getvalue().splitlines()[1:]] == ["65 s", "64 s", "63 s"]


def test_the_first_round_which_loads_everything_gives_no_estimate(reporter: ConsoleReporter, out: io.StringIO) -> None:
    reporter.round(RECORD | {"round": 1})
    assert out.getvalue().endswith("in 20 B\n")


def test_late_clients_are_counted_in_their_round_and_named_at_the_end(
    reporter: ConsoleReporter, out: io.StringIO
) -> None:
    reporter.round(RECORD | {"late": ["client-03", "client-04"]})
    assert "2 ok  0 failed  2 late  loss" in out.getvalue()
    late = {"late": {"client-03": 1, "client-04": 2}, "late_updates": 1}
    reporter.finish([ROW], SUMMARY | late, Path("/runs/a"))
    line = "  not waited for (wait-share): client-04 x 2, client-03 x 1; 1 late update came in, not used\n"
    assert line in out.getvalue()


def test_the_start_says_which_share_closes_a_round(out: io.StringIO) -> None:
    ConsoleReporter(out).start(Settings(wait_share=0.9), 20, Path("/runs/a"), DIGITS)
    assert "20, 5 in each round, which closes once 90 % have answered" in out.getvalue()


def test_the_best_round_and_a_short_rest(reporter: ConsoleReporter, out: io.StringIO) -> None:
    late = {
        "round": 60,
        "best": True,
        "validation_failed": {"a": "timeout"},
        "seconds": {"round": 12.3, "evaluate": 0.2},
    }
    reporter.round(RECORD | late)
    first, second = out.getvalue().splitlines()
    assert first.endswith("val acc 96.9 %  ece 0.010  12 s  out 10 B  in 20 B  ETA 0 s  best so far")
    assert second == "  failed in validation: a (timeout)"


def test_a_round_without_anything_good(reporter: ConsoleReporter, out: io.StringIO) -> None:
    empty = {"ok": 0, "train_loss": None, "validation_accuracy": None, "seconds": {"round": 3700.0}}
    failed = {"client-07": "timeout", "b\u00fcro": "boom:\n  line two " + "x" * 500}
    reporter.round(RECORD | empty | {"failed": failed})
    first, second = out.getvalue().splitlines()
    assert (
        first
        == "round  5/60  0 ok  2 failed  loss n/a  val acc      -  ece 0.010  62 min  out 10 B  in 20 B  ETA 68.9 h"
    )
    assert second.startswith("  failed: b\\xfcro (boom: line two xxx")
    assert second.endswith("...), client-07 (timeout)")
    assert len(second) < 200


def test_finish_aligns_and_names_the_folder_last(reporter: ConsoleReporter, out: io.StringIO) -> None:
    nothing = dict.fromkeys(("last_trained_round", "accuracy", "nll", "ece", "brier"))
    rows = [ROW, ROW | nothing | {"name": "\u75c5\u9662", "classes": [], "n_test": 0}]
    reporter.round(RECORD | {"counters": {"chain_redrawn": 2, "step_skipped": 0}})
    reporter.round(RECORD | {"counters": {"chain_redrawn": 1}})
    reporter.finish(rows, SUMMARY | {"notes": ["a note"], "missing_clients": {"c": "gone"}}, Path("/runs/a"))
    text = out.getvalue()
    assert text.isascii()
    lines = text.splitlines()[3:]
    header, rule, first, second = lines[:4]
    assert len({len(header), len(rule), len(first), len(second)}) == 1
    assert first.split() == ["client-00", "3,", "8", "120", "30", "4", "59", "96.7", "%", "0.120", "0.034", "0.050"]
    assert second.split()[-6:] == ["4", "n/a", "n/a", "n/a", "n/a", "n/a"]
    assert "counters: chain_redrawn 3\n" in text
    assert "federated  accuracy 97.0 %  nll 0.100  ece 0.012  mce 0.200  brier 0.050" in lines
    assert "completed after 60 rounds, 20 clients, best round 45, 31 s" in text
    assert "  no test result: c (gone)" in lines
    assert lines[-2] == "           a note"
    assert lines[-1] == "/runs/a"


def test_a_run_without_any_client_or_result(reporter: ConsoleReporter, out: io.StringIO) -> None:
    reporter.finish([], {"status": "failed", "accuracy": None}, Path("/runs/a"))
    assert "federated  accuracy n/a  nll n/a" in out.getvalue()


def test_a_thousand_clients_stay_readable(reporter: ConsoleReporter, out: io.StringIO) -> None:
    rows = [ROW | {"name": f"client-{i:03}", "accuracy": (i * 7 % 1000) / 1000} for i in range(1000)]
    reporter.finish([*rows, ROW | {"name": "client-new", "accuracy": None}], SUMMARY, Path("/runs/a"))
    lines = out.getvalue().splitlines()
    assert len(lines) < 30
    where = "1001 clients, all in /runs/a/clients.csv; those with the worst and the best accuracy:"
    first = lines.index(where) + 3
    names = [line.split()[0] for line in lines[first : first + 10]]
    assert names == [f"client-{i:03}" for _, i in sorted((i * 7 % 1000, i) for i in range(1000)) if _ < 5 or _ > 994]


def test_a_table_of_some_clients_shows_all(reporter: ConsoleReporter, out: io.StringIO) -> None:
    reporter.finish([ROW | {"name": f"client-{i:02}"} for i in range(30)], SUMMARY, Path("/runs/a"))
    assert sum(line.startswith("client-") for line in out.getvalue().splitlines()) == 30


def test_prints_to_the_present_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = ConsoleReporter()
    reporter.start(Settings(), 3, Path("x"), DIGITS)
    assert capsys.readouterr().out.startswith("pFedGP\n")


TEMPERATURES = {
    "temperature": 0.2,
    "ece_at_temperature": 0.0104,
    "model_temperature": 0.5,
    "ece_at_model_temperature": 0.03,
    "nll_at_model_temperature": 0.2,
    "validation_samples": 100,
    "temperature_rule": "validation data of 5 clients",
}


def test_temperatures_have_lines_of_their_own(reporter: ConsoleReporter, out: io.StringIO) -> None:
    reporter.finish([ROW], SUMMARY | TEMPERATURES, Path("/runs/a"))
    assert (
        "           at the model's temperature 0.5, as `pfedgp predict` answers (by validation data of 5 clients): "
        "ece 0.030  nll 0.200 (all above at temperature 1)\n"
        "           at temperature 0.2, which had the smallest validation ece: ece 0.010\n"
    ) in out.getvalue()


@pytest.mark.parametrize(
    ("temperature", "samples", "shown", "doubt"),
    [
        (0.1, 100, "0.1", "the smallest that was tried"),
        (1000.0, 100, "1000", "the largest that was tried"),
        (0.2, 99, "0.2", "only 99 validation samples"),
        (0.1, 1, "0.1", "the smallest that was tried, only 1 validation sample"),
    ],
)
def test_a_doubtful_choice_says_why(
    temperature: float, samples: int, shown: str, doubt: str, reporter: ConsoleReporter, out: io.StringIO
) -> None:
    doubtful = {"temperature": temperature, "validation_samples": samples}
    reporter.finish([ROW], SUMMARY | TEMPERATURES | doubtful, Path("/runs/a"))
    said = f"at temperature {shown}, which had the smallest validation ece ({doubt}): ece 0.010\n"
    assert said in out.getvalue()


def test_a_temperature_without_validation_data_is_told(reporter: ConsoleReporter, out: io.StringIO) -> None:
    rule = "leave-one-out on the data of 2 clients that never trained"
    changes = {"temperature": None, "ece_at_temperature": None, "temperature_rule": rule}
    reporter.finish([ROW], SUMMARY | TEMPERATURES | changes, Path("/runs/a"))
    assert f"at the model's temperature 0.5, as `pfedgp predict` answers (by {rule}): ece 0.030" in out.getvalue()
    assert "smallest validation ece" not in out.getvalue()


@pytest.mark.parametrize(("method", "answers"), [("pfedgp", True), ("whitened", True), ("fedavg", False)])
def test_methods_whose_models_answer_nothing_say_nothing_of_predict(
    method: str, answers: bool, reporter: ConsoleReporter, out: io.StringIO
) -> None:
    reporter.finish([ROW], SUMMARY | TEMPERATURES | {"method": method}, Path("/runs/a"))
    assert ("as `pfedgp predict` answers" in out.getvalue()) is answers


def test_without_validation_data_no_temperature_is_told(reporter: ConsoleReporter, out: io.StringIO) -> None:
    nothing = dict.fromkeys(TEMPERATURES) | {"validation_samples": 0}
    reporter.finish([ROW], SUMMARY | nothing, Path("/runs/a"))
    assert "temperature" not in out.getvalue()


def test_no_name_gives_an_order_to_the_terminal(reporter: ConsoleReporter, out: io.StringIO) -> None:
    evil = "a\x1b[2J\x07\nb\x85"
    reporter.round(RECORD | {"counters": {evil: 1}, "failed": {evil: evil}})
    reporter.finish([ROW | {"name": evil, "classes": [evil]}], SUMMARY | {"notes": [evil]}, Path("/runs/a"))
    assert all(character == "\n" or character.isprintable() for character in out.getvalue())
    assert "counters: a\\x1b[2J\\x07\\nb\\x85 1\n" in out.getvalue()


def test_a_terminal_of_utf8_shows_letters_as_they_are_and_still_obeys_none() -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    evil = "h\u00f4pital-\u00cele\u202e\x1b[2J"
    ConsoleReporter(out).finish([ROW | {"name": evil}], SUMMARY, Path("/runs/a"))
    out.seek(0)
    assert "h\u00f4pital-\u00cele\\u202e\\x1b[2J" in out.read()
