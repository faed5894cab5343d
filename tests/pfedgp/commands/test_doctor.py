"""``pfedgp doctor``: its options, its JSON and its exit code."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.operator.state import ServerState


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--superlink", "a:1"], "--ca is missing"),
        (["--superlink", "a:1", "--ca", "x", "--insecure"], "--insecure uses neither"),
        (["--superlink", "a:1", "--ca", "x", "--certs", "y"], "--certs is for the server"),
        (["--key", "x"], "--key is for a site"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *arguments]) == 2
    assert word in capsys.readouterr().err


def test_the_state_folder_of_a_site_asks_for_its_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "client.json").write_text("{}")
    assert main(["doctor", "--state", str(tmp_path)]) == 2
    assert "--superlink" in capsys.readouterr().err


def test_json_and_exit_code(stopped: ServerState, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--state", str(stopped.path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == sum(check["status"] == "problem" for check in report["checks"]) > 0
    problem = next(check["problem"] for check in report["checks"] if check["status"] == "problem")
    assert set(problem) == {"code", "sentence", "remedy", "lasting", "warning"}
