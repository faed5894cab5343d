"""``pfedgp status`` of a server that does not run or does not answer."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.operator import authority
from pfedgp.operator.state import ServerState

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_a_server_that_does_not_run_is_told_from_one_that_does_not_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority.issue(tmp_path / "certs", ["localhost"], [])
    state = ServerState(tmp_path / "state")
    state.prepare()
    record = {
        "control_address": "127.0.0.1:1",
        "control_listens": "0.0.0.0:1",
        "fleet_address": "0.0.0.0:2",
        "ca": str(tmp_path / "certs/ca.crt"),
        "certs": str(tmp_path / "certs"),
        "database": False,
    }
    (state.path / "server.json").write_text(json.dumps(record))

    assert main(["status", "--state", str(state.path)]) == 1
    assert (
        f"does not run: start it with pfedgp server --state {state.path} --certs {tmp_path / 'certs'} "
        "--fleet-address 0.0.0.0:2 --control-address 0.0.0.0:1 --no-database\n"
    ) in capsys.readouterr().err

    with state.locked():
        assert main(["status", "--state", str(state.path)]) == 1
    assert "127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_the_state_folder_of_a_site_tells_of_the_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "client.json").write_text(json.dumps({"supervisor": 77, "connected": False}))
    told = {"run": "12", "time": "2026-01-01T10:00:00Z", "refused": True, "words": "refused: check the units"}
    (tmp_path / "notice.json").write_text(json.dumps(told))
    assert main(["status", "--state", str(tmp_path)]) == 0
    assert "refused: check the units" in capsys.readouterr().out
    assert main(["status", "--json", "--state", str(tmp_path)]) == 0
    assert "refused: check the units" in json.loads(capsys.readouterr().out)["server"]
