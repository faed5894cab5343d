"""The audit log of a deployed run: every request and reply, with the digest that a site computes itself."""

import json
from pathlib import Path

import pytest
from flwr.app import Message

from pfedgp.cli import main
from pfedgp_core.audit.contents import described
from pfedgp_core.audit.log import AuditLog
from pfedgp_core.audit.verifying import read_lines, verify
from pfedgp_core.errors import ArtefactError
from pfedgp_core.policy.runs import run_hash
from tests.federation_run import SMALL, federate, resume

pytestmark = pytest.mark.slow


def entries(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for _, line in read_lines(folder / "audit")]


def test_every_message_of_a_deployed_run_is_in_its_log(tmp_path: Path) -> None:
    sent: list[str] = []

    def look(_request: Message, _index: int, reply: Message) -> Message:
        if not reply.has_error():
            sent.append(described(reply.content)["sha256"])
        return reply

    federate(SMALL, tmp_path / "run", look, deployed=True)
    found = verify(tmp_path / "run/audit")
    assert (found.faults, found.torn) == ([], [])
    started, *lines = entries(tmp_path / "run")
    assert (started["event"], started["settings"]) == ("started", run_hash(SMALL))
    received = [line["reply"]["sha256"] for line in lines if line["event"] == "received"]  # type: ignore[index]
    assert sorted(received) == sorted(sent)
    assert len([line for line in lines if line["event"] == "asked"]) == len(received)
    trained = [line for line in lines if line["kind"] == "train" and line["event"] == "received"]
    assert len(trained) == SMALL.rounds * SMALL.clients_per_round
    assert all(str(line["client"]).startswith("client-") for line in trained)
    reply = trained[0]["reply"]
    assert isinstance(reply, dict)
    assert reply["fields"]["shared"] > 1000


def test_a_resumed_run_goes_on_in_its_log(tmp_path: Path) -> None:
    federate(SMALL.replace(rounds=2), tmp_path / "run", deployed=True)
    before = verify(tmp_path / "run/audit")
    resume(tmp_path / "run", deployed=True, rounds=3)
    after = verify(tmp_path / "run/audit", known=(before.last, before.head))
    assert after.faults == []
    assert after.lines > before.lines


def test_a_simulation_has_no_audit_log(tmp_path: Path) -> None:
    federate(SMALL.replace(rounds=1), tmp_path / "run")
    assert not (tmp_path / "run/audit").exists()


def test_a_run_whose_log_cannot_be_written_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ArtefactError("The disk is full.")

    monkeypatch.setattr(AuditLog, "add", full)
    with pytest.raises(ArtefactError, match="disk is full"):
        federate(SMALL.replace(rounds=1), tmp_path / "run", deployed=True)


def test_verify_takes_a_run_s_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    federate(SMALL.replace(rounds=1), tmp_path / "run", deployed=True)
    capsys.readouterr()
    assert main(["audit", "verify", "--state", str(tmp_path / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["whole"] is True
