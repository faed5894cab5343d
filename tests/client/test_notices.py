"""The server's words to a site: in its own log, and in its state for the doctor and ``status``."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict

from client import notices
from client.client_app import app
from client.notices import NOTICE_FILE
from pfedgp_core.wire.names import NOTICE, REFUSED, WORDS
from pfedgp_core.wire.notice import WORDS_LIMIT, column_text, notice, with_column_names
from server.flower.messages import request
from tests.client.site_requests import ask, node

TOLD = "refused: ward-3's inputs are on another scale: column 2 of the table has mean 9000; check the units."


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "_said", {})
    monkeypatch.setattr(notices, "_columns", {})


@pytest.fixture(autouse=True)
def log_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("pfedgp.client")
    monkeypatch.setattr(logger, "propagate", True)  # pytest gives handlers to a logger that does not
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.delenv("PFEDGP_CLIENT_LOG", raising=False)


def tell(node_config: dict[str, Any], fields: dict[str, Any]) -> Message:
    message = request(NOTICE, 9, ConfigRecord(fields), None, 60.0)
    return app(message, Context(7, 9, node_config, RecordDict(), {}))


def test_words_are_logged_once_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = node(tmp_path / "table.csv", state=str(tmp_path))
    for _ in range(3):
        assert not tell(config, notice(TOLD, refused=True)).has_error()
    said = capsys.readouterr().err.splitlines()
    assert [line.partition("WARNING: ")[2] for line in said] == [f"the server says: {TOLD}"]
    kept = json.loads((tmp_path / NOTICE_FILE).read_text())
    assert (kept["words"], kept["refused"], kept["run"]) == (TOLD, True, "7")


def test_a_column_has_its_name_where_the_site_knows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "table.csv").write_text("label,crp,age\n" + "".join(f"{'ab'[i % 2]},{i},{i}\n" for i in range(20)))
    config = node(tmp_path / "table.csv")
    assert not ask("query.hello", config, spec=None).has_error()
    tell(config, notice(TOLD, refused=True))
    assert "column 'age' (2 of the table) has mean 9000" in capsys.readouterr().err


def test_other_places_stay_as_they_are() -> None:
    assert column_text(0) == "column 1 of the table"
    assert with_column_names("column 3 of the table, column 0 of the table", ("a", "b")) == (
        "column 3 of the table, column 0 of the table"
    )
    assert with_column_names("column 1 of the table", ("a\nb",)) == r"column 'a\\nb' (1 of the table)"


def test_a_server_writes_one_bounded_printable_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = node(tmp_path / "table.csv", state=str(tmp_path))
    tell(config, {WORDS: "\x1b[2J\n" + "x" * 10**6, REFUSED: True})
    words = json.loads((tmp_path / NOTICE_FILE).read_text())["words"]
    assert words.isprintable()
    assert len(words) <= WORDS_LIMIT
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) <= WORDS_LIMIT + 100


@pytest.mark.parametrize("fields", [{}, {WORDS: 1, REFUSED: True}, {WORDS: "a"}, {WORDS: "a", REFUSED: "yes"}])
def test_what_is_no_notice_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    config = node(tmp_path / "table.csv", state=str(tmp_path))
    assert tell(config, fields).error.reason == "DataError"
    assert not (tmp_path / NOTICE_FILE).exists()
