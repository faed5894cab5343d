"""The doctor's checks of a server that does not run."""

import json
from pathlib import Path

from pfedgp.doctor.problem import Problem
from pfedgp.doctor.server import check_server
from pfedgp.operator.authority import issue
from pfedgp.operator.state import ServerState


def found(state: ServerState, certs: Path | None = None) -> dict[str, Problem]:
    return {check.problem.code: check.problem for check in check_server(state, certs) if check.problem}


def test_a_server_that_does_not_run(stopped: ServerState) -> None:
    problems = found(stopped)

    assert "pfedgp server" in problems["no-server"].remedy
    assert not problems["not-listening"].warning
    assert problems["no-database"].warning


def test_no_server_ever_ran_here(tmp_path: Path) -> None:
    assert "pfedgp server" in found(ServerState(tmp_path / "nothing"))["no-server"].sentence


def test_certificates_that_do_not_fit_and_open_secrets(stopped: ServerState, tmp_path: Path) -> None:
    certs = tmp_path / "certs"
    checks = {check.topic: check for check in check_server(stopped, None)}
    assert checks["certificates"].status == "ok"
    assert "fl.example.org" in checks["certificates"].fact

    (certs / "server.key").chmod(0o644)
    assert "chmod 600" in found(stopped)["file-mode"].remedy
    issue(tmp_path / "others", ["localhost"], [])
    (certs / "server.key").write_bytes((tmp_path / "others" / "server.key").read_bytes())
    assert "belong together" in found(stopped)["certificates"].sentence
    assert "certificates" not in found(stopped, tmp_path / "others")


def test_versions_of_sites_in_the_last_run(stopped: ServerState) -> None:
    run = stopped.runs / "first"
    run.mkdir()
    (run / "summary.json").write_text(json.dumps({"other_client_versions": ["pfedgp 0.0.9"]}))

    problem = found(stopped)["other-versions"]

    assert problem.warning
    assert "pfedgp 0.0.9" in problem.sentence
    assert "first" in problem.sentence
