"""``pfedgp audit`` and what a site's agent writes."""

import json
from pathlib import Path

import pytest
from flwr.app import Message

from pfedgp.cli import main
from pfedgp_core.audit.contents import described
from pfedgp_core.audit.log import CURRENT, AuditLog
from pfedgp_core.audit.verifying import read_lines, verify
from pfedgp_core.errors import ArtefactError
from pfedgp_core.policy.runs import run_hash
from tests.client.site_requests import OWN
from tests.pfedgp.site.gated import GatedSite, refused


def entries(state: Path) -> list[dict[str, object]]:
    return [json.loads(line) for _, line in read_lines(state / "audit")]


def test_each_answer_is_a_line_without_contents(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, None)
    replies: list[Message] = [site.ask("query.hello"), site.ask("train", round=3)]
    hello, train = entries(tmp_path)
    assert (hello["event"], hello["kind"], train["round"]) == ("sent", "query.hello", 3)
    assert [line["reply"]["sha256"] for line in (hello, train)] == [  # type: ignore[index]
        described(reply.content)["sha256"] for reply in replies
    ]
    assert train["settings"] == run_hash(OWN)
    assert set(train["reply"]["metrics"]) >= {"loss", "n_train", "seconds"}  # type: ignore[index]
    assert "ward-3" not in (tmp_path / "audit" / CURRENT).read_text()  # which both replies hold


def test_refusals_and_approvals_are_lines(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, "")
    site.ask("train")
    assert main(["approve", run_hash(OWN)[:16], "--state", str(tmp_path), "--yes", "--by", "Ada"]) == 0
    site.ask("train")
    assert main(["approve", run_hash(OWN)[:16], "--state", str(tmp_path), "--revoke", "--by", "Bob"]) == 0
    lines = entries(tmp_path)
    assert [line["event"] for line in lines] == ["refused", "approved", "sent", "revoked"]
    assert (lines[0]["error"], lines[1]["by"], lines[2]["approved_by"], lines[3]["by"]) == (
        "PolicyError",
        "Ada",
        "Ada",
        "Bob",
    )
    assert lines[2]["policy"] == lines[0]["policy"]
    assert verify(tmp_path / "audit").faults == []


@pytest.mark.parametrize("policy", [None, 'runs = "any"\n'])
def test_a_site_with_a_policy_sends_nothing_that_it_cannot_note(
    tmp_path: Path, policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = GatedSite(tmp_path, policy)

    def full(*_: object) -> None:
        raise ArtefactError("The disk is full.")

    monkeypatch.setattr(AuditLog, "add", full)
    reply = site.ask("train")
    assert refused(reply) == (policy is not None)
    assert "The audit log: The disk is full." in site.said


def written(state: Path) -> Path:
    for i in range(3):
        AuditLog(state / "audit").add(("sent", {"kind": "train", "round": i}))
    return state


def test_verify_prints_a_head_that_it_takes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "verify", "--state", str(written(tmp_path)), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["whole"], told["lines"]) == (True, 3)
    assert main(["audit", "verify", "--state", str(tmp_path), "--head", told["head"]]) == 0
    assert main(["audit", "verify", "--state", str(tmp_path), "--head", "2:" + "0" * 64]) == 1
    assert "FAULT line 2" in capsys.readouterr().out


def test_show_prints_the_last_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "show", "--state", str(written(tmp_path)), "--last", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert "round=2" in printed[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["verify", "--head", "x"], "N:HASH"),
        (["verify", "--last", "3"], "--last is for"),
        (["show", "--archived"], "are for pfedgp audit verify"),
    ],
)
def test_mistakes_are_a_sentence(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *arguments, "--state", str(written(tmp_path))]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_without_a_log_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "verify", "--state", str(tmp_path)]) == 2
    assert "holds no audit log" in capsys.readouterr().err
