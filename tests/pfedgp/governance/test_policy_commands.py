"""``pfedgp policy``, ``approve`` and what doctor and status say of a policy."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.doctor.local import check_policy
from pfedgp_core.config import Settings
from pfedgp_core.policy.refusals import note_refusal
from pfedgp_core.policy.runs import Runs, run_hash
from pfedgp_core.policy.site_policy import FILE, FOLDER, SitePolicy, read_policy

KEY = run_hash(Settings())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    assert main(["policy", "--state", str(tmp_path / "site"), "--init"]) == 0
    Runs.read(tmp_path / "site").note_asked(Settings(), "4711")
    return tmp_path / "site"


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, object]:
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_template_is_a_policy_and_private(state: Path) -> None:
    assert read_policy(state) == SitePolicy()
    assert (state / FOLDER / FILE).stat().st_mode & 0o777 == 0o600


def test_every_line_of_the_template_is_one_that_can_be_put_in_force(state: Path) -> None:
    file = state / FOLDER / FILE
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line.removeprefix("# ") if " = " in line else line for line in lines))
    policy = read_policy(state)
    assert policy is not None
    assert [name for name, value in vars(policy).items() if value == getattr(SitePolicy(), name)] == [
        *("runs", "dp_clip", "dp_delta")
    ]


def test_a_policy_is_not_overwritten(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "--state", str(state), "--init"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_approval_by_hash_number_and_back(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = told(capsys, "approve", "--state", state)
    assert [run["approved"] for run in listed["runs"]] == [False]  # type: ignore[attr-defined]
    shown = told(capsys, "approve", KEY[:10], "--state", state)
    assert (shown["run"], shown["approved"]) == (KEY, False)
    assert told(capsys, "approve", "4711", "--state", state, "--yes", "--by", "Ada")["approved"] is True
    assert told(capsys, "approve", "--state", state)["runs"][0]["by"] == "Ada"  # type: ignore[index]
    assert told(capsys, "policy", "--state", state)["approved"] == [KEY]
    assert told(capsys, "approve", KEY[:16], "--state", state, "--revoke")["approved"] is False
    assert told(capsys, "policy", "--state", state)["approved"] == []


def test_without_a_terminal_nobody_approves(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approve", KEY[:10], "--state", str(state)]) == 1
    printed = capsys.readouterr().out
    assert "What would leave this site:" in printed
    assert printed.endswith("is not approved. Nobody could be asked at a terminal: give --yes to approve it.\n")
    assert Runs.read(state).approved == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["approve", "--yes"], "name it"),
        (["approve", "ffffffff"], "names no runs"),
        (["approve", KEY[:10], "--revoke"], "nothing to take back"),
    ],
)
def test_mistakes_are_a_sentence(
    state: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--state", str(state)]) == 2
    assert said in capsys.readouterr().err


def test_a_site_without_a_policy_has_nothing_to_approve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approve", "--state", str(tmp_path)]) == 2
    assert "pfedgp policy --init" in capsys.readouterr().err
    assert told(capsys, "policy", "--state", tmp_path)["policy"] is None
    assert check_policy(tmp_path).fact.startswith("none")


def test_the_doctor_shows_the_last_refusal_and_a_damaged_policy(state: Path) -> None:
    assert check_policy(state).problem is None
    note_refusal(state, "train", "It is night.")
    problem = check_policy(state).problem
    assert problem is not None
    assert "It is night." in problem.sentence
    assert problem.warning
    (state / FOLDER / FILE).write_text("runs = ")
    problem = check_policy(state).problem
    assert problem is not None
    assert "everything is refused" in problem.sentence
    assert not problem.warning


def test_stock_supernodes_are_refused_where_a_policy_is(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state.parent / "d.npz").touch()
    site = ["--name", "ward-3", "--superlink", "127.0.0.1:9092", "--insecure", "--data", str(state.parent / "d.npz")]
    assert main(["client", *site, "--state", str(state), "--stock"]) == 2
    assert "does not obey" in capsys.readouterr().err
