"""Mistakes in the operator's commands: one sentence each, and nothing is left behind."""

from pathlib import Path

import pytest

from pfedgp.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["server"], 2, "pfedgp certs"),
        (["server", "--certs", "nowhere"], 2, "Cannot read the certificate"),
        (["server", "--certs", "x", "--runtime", "a:1"], 2, "--only superexec"),
        (["server", "--only", "superexec"], 2, "--runtime HOST:PORT"),
        (["server", "--only", "superexec", "--runtime", "a:1"], 2, "--ca FILE"),
        (["server", "--certs", "x", "--fleet-address", "9092"], 2, "HOST:PORT"),
        (["server", "--certs", "x", "--control-address", "127.0.0.1:9092"], 2, "both on port 9092"),
        (["run", "--state", "nowhere"], 2, "No server has run on"),
        (["run", "--ca", "x"], 2, "--ca goes with --control"),
        (["run", "--control", "a", "--ca", "x"], 2, "HOST:PORT"),
        (["run", "--control", "127.0.0.1:1", "--ca", "nowhere"], 2, "Cannot read the certificate"),
        (["status", "--state", "nowhere"], 2, "No server has run on"),
        (["stop"], 2, "either RUN or --server"),
        (["stop", "x", "--server"], 2, "either RUN or --server"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(command) == code

    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
