"""``pfedgp withdraw``: what is deleted and kept, what the receipt says, and that no client starts afterwards."""

import fcntl
import hashlib
import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.audit.log import AuditLog
from pfedgp_core.audit.verifying import read_lines, verify
from pfedgp_core.errors import ArtefactError
from pfedgp_core.site import withdrawal
from tests.pfedgp.site.gated import GatedSite


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A site that has trained in rounds 2 and 5."""
    folder = tmp_path / "site-state"
    folder.mkdir()
    site = GatedSite(folder, 'runs = "any"\n')
    for number in (2, 5):
        assert not site.ask("train", round=number).has_error()
    for name in ("site", "kept", "flwr", "logs"):
        (folder / name).mkdir()
        (folder / name / "file").write_bytes(b"x" * 100)
    (folder / "client.json").write_text(json.dumps({"name": "ward-3"}))
    (folder / "data.npz").rename(tmp_path / "data.npz")
    return folder


def withdraw(state: Path, *options: str) -> int:
    return main(["withdraw", "--state", str(state), *options])


def told(capsys: pytest.CaptureFixture[str], state: Path, *options: str) -> dict[str, object]:
    capsys.readouterr()
    assert withdraw(state, *options, "--json") == 0
    return dict(json.loads(capsys.readouterr().out))


def names(state: Path) -> set[str]:
    return {path.name for path in state.iterdir()}


def test_nothing_is_deleted_that_nobody_agreed_to(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = names(state)
    assert withdraw(state) == 1
    assert names(state) - {"lock"} == before - {"lock"}
    printed = capsys.readouterr().out
    assert "Deleted here would be:" in printed
    assert "got 2 updates of this site, from round 2 to round 5" in printed


def test_all_but_the_audit_log_and_the_receipt_is_deleted(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = told(capsys, state, "--yes", "--by", "Ada")
    assert names(state) == {"audit", "lock", "withdrawn.json"}
    assert (state.parent / "data.npz").exists()
    assert result["site"] == "ward-3"
    assert {part["name"] for part in result["parts"]} >= {"site", "kept", "logs", "flwr", "policy"}  # type: ignore[attr-defined]
    (run,) = result["runs"]  # type: ignore[misc]
    assert (run["run"], run["updates"], run["first_round"], run["last_round"]) == ("7", 2, 2, 5)
    assert "Only a new training without the site" in str(result["elsewhere"])
    seal = result.pop("sha256")
    assert hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest() == seal
    assert json.loads((state / "withdrawn.json").read_text()) == result | {"sha256": seal}
    last = json.loads([line for _, line in read_lines(state / "audit")][-1])
    assert (last["event"], last["by"], last["receipt"]) == ("withdrawn", "Ada", seal)
    assert verify(state / "audit").faults == []


def test_a_classifier_can_be_kept(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = told(capsys, state, "--yes", "--keep-classifier")
    assert (state / "site" / "file").exists()
    assert "site" in result["kept"]  # type: ignore[operator]
    assert told(capsys, state, "--yes")["parts"] != []  # it can go later
    assert not (state / "site").exists()


def test_no_client_starts_on_what_is_left(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert withdraw(state, "--yes") == 0
    site = ["--name", "ward-3", "--superlink", "127.0.0.1:9", "--insecure", "--data", str(state.parent / "data.npz")]
    assert main(["client", *site, "--state", str(state)]) == 2
    assert "has withdrawn from its federation" in capsys.readouterr().err


def test_again_says_that_it_is_done(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = told(capsys, state, "--yes")
    assert told(capsys, state, "--yes") == first


def test_a_withdrawal_that_was_cut_off_goes_on(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(folder: Path, given: list[withdrawal.Part]) -> None:
        withdrawal_remove(folder, given[:2])
        raise ArtefactError("killed")

    withdrawal_remove = withdrawal.remove
    with monkeypatch.context() as patched:
        patched.setattr("pfedgp.governance.withdraw.remove", cut)
        assert withdraw(state, "--yes") == 2
    site = ["--name", "ward-3", "--superlink", "127.0.0.1:9", "--insecure", "--data", str(state.parent / "data.npz")]
    assert main(["client", *site, "--state", str(state)]) == 2
    assert "has withdrawn" in capsys.readouterr().err
    result = told(capsys, state, "--yes")
    assert names(state) == {"audit", "lock", "withdrawn.json"}
    assert result["site"] == "ward-3"
    listed = [part["name"] for part in result["parts"]]  # type: ignore[attr-defined]
    assert len(listed) == len(set(listed)) > 4


def test_a_client_that_runs_is_stopped_first(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert withdraw(state, "--yes") == 2
    assert "stop it first" in capsys.readouterr().err
    assert (state / "site").exists()


def test_another_folder_is_not_emptied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    assert withdraw(tmp_path, "--yes") == 2
    assert "no state folder of a site" in capsys.readouterr().err
    assert (tmp_path / "logs").exists()


def test_a_link_is_removed_and_not_what_it_leads_to(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state.parent / "elsewhere").mkdir()
    (state.parent / "elsewhere" / "file").write_text("x")
    (state / "kept" / "file").unlink()
    (state / "kept").rmdir()
    (state / "kept").symlink_to(state.parent / "elsewhere")
    told(capsys, state, "--yes")
    assert not (state / "kept").is_symlink()
    assert (state.parent / "elsewhere" / "file").exists()


@pytest.mark.parametrize(("logged", "said"), [(True, "No update has left this site"), (False, "Nobody knows here")])
def test_what_the_log_knows_of_updates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], logged: bool, said: str
) -> None:
    (tmp_path / "client.json").write_text("{}")
    if logged:
        AuditLog(tmp_path / "audit").add(
            ("sent", {"kind": "query.hello", "run": "1", "reply": {"fields": {"hello": 9}}})
        )
    assert said in str(told(capsys, tmp_path, "--yes")["elsewhere"])


def test_a_damaged_mark_counts_as_withdrawn(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "withdrawn.json").write_text("{")
    site = ["--name", "ward-3", "--superlink", "127.0.0.1:9", "--insecure", "--data", str(state.parent / "data.npz")]
    assert main(["client", *site, "--state", str(state)]) == 1
    assert "cannot be read" in capsys.readouterr().err
