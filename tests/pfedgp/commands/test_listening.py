"""Mistakes in the options of the two verbs that answer over HTTP: one sentence each, and nothing is started."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pfedgp.cli import main
from tests.table_site import table_site

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def serve(folder: Path) -> list[str]:
    table_site().save(folder / "site")
    return ["serve", "--site", str(folder / "site")]


def dashboard(folder: Path) -> list[str]:
    (folder / "state").mkdir(mode=0o700)
    return ["dashboard", "--state", str(folder / "state")]


BOTH = [
    (["--host", "0.0.0.0"], "can be reached from other machines"),
    (["--certificate", "c"], "go together"),
    (["--certificate", "none.crt", "--key", "none.key"], "Cannot read the certificate"),
    (["--port", "x"], "--port 'x' is not a whole number"),
    (["--host", "192.0.2.1", "--insecure"], "Cannot listen on 192.0.2.1"),
]
OWN = [
    (serve, ["--max-body", "0"], "--max-body '0' is not a whole number"),
    (dashboard, ["--ca", "ca.crt"], "--ca goes with --control"),
    (dashboard, ["--control", "nowhere"], "is not of the form HOST:PORT"),
]


@pytest.mark.parametrize(
    ("verb", "options", "words"), [*((verb, *each) for verb in (serve, dashboard) for each in BOTH), *OWN]
)
def test_mistakes_are_a_sentence(
    verb: Callable[[Path], list[str]],
    options: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    assert main([*verb(tmp_path), *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1
