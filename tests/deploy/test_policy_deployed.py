"""A site with a policy over a real SuperLink: refused, approved while the run waits, and both logs tell the same."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.audit.verifying import read_lines, verify
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.runs import Runs
from tests.deploy.deployment import deployed
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


def test_a_run_is_refused_and_then_approved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "ward-a"
    assert main(["policy", "--state", str(state), "--init"]) == 0
    policy = state / "policy" / "policy.toml"
    policy.write_text(policy.read_text() + "min-cell = 3\npublications = true\n")
    with deployed(tmp_path, {"ward-a": (0, 1), "ward-b": (2, 3)}, 20) as made:
        settings = ["--clients-per-round", "2", "--set", "min-clients=2", "--set", "wait-timeout=200"]
        run = made.start_run("first", "--rounds", "2", *settings)
        asked = wait_for(lambda: list(Runs.read(state).asked), 120.0, "the run asks for approval")
        made.sites["ward-a"].says("The site's policy: Run .* is not approved", 60.0)
        assert main(["status", "--state", str(state)]) == 0
        assert "is not approved" in capsys.readouterr().out
        assert main(["approve", asked[0][:16], "--state", str(state), "--yes", "--by", "Ada"]) == 0
        assert run.ends(300.0) == 0, run.text
        assert "ward-a: created" in run.text
        assert Ledger.read(state).updates == {asked[0]: 2}
        assert main(["audit", "verify", "--state", str(state)]) == 0
    site = [json.loads(line) for _, line in read_lines(state / "audit")]
    server = [json.loads(line) for _, line in read_lines(made.runs / "first" / "audit")]
    assert verify(made.runs / "first" / "audit").faults == []
    assert {line["settings"] for line in server if line["event"] == "started"} == set(asked)
    sent = {line["reply"]["sha256"] for line in site if line["event"] == "sent" and line["kind"] != "query.notice"}
    assert sent <= {line["reply"]["sha256"] for line in server if line["event"] == "received" and "reply" in line}
    assert {line["approved_by"] for line in site if line["event"] == "sent" and line["kind"] == "train"} == {"Ada"}
