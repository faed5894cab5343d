"""Approvals and the ledger: what is kept, found, bounded, and refused where it is damaged."""

import json
import math
from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, PolicyError
from pfedgp_core.learning.privacy import spent
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.runs import MOST_ASKED, Runs, run_hash
from pfedgp_core.policy.site_policy import FOLDER, SitePolicy
from pfedgp_core.policy.summary import described, summary


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / FOLDER).mkdir()
    return tmp_path


def test_each_setting_is_part_of_a_run_s_hash() -> None:
    changed = [Settings(), Settings(seed=1), Settings(rounds=61), Settings(dp_noise=1.0), Settings(learning_rate=0.051)]
    assert len({run_hash(each) for each in changed}) == len(changed)
    assert run_hash(Settings.from_run_config(Settings().to_run_config())) == run_hash(Settings())


def test_a_run_that_asked_is_found_approved_and_revoked(state: Path) -> None:
    runs = Runs.read(state)
    runs.note_asked(Settings(), "4711")
    key = run_hash(Settings())
    runs = Runs.read(state)
    assert runs.find(key[:8]) == runs.find("4711") == key
    runs.approve(key, "A. Operator")
    assert Runs.read(state).approved[key]["by"] == "A. Operator"
    runs.revoke(key)
    assert Runs.read(state).approved == {}
    assert Runs.read(state).settings(key) == Settings()


@pytest.mark.parametrize("name", ["", "f", "ffffffff", "4712"])
def test_a_name_of_no_run_is_refused(state: Path, name: str) -> None:
    runs = Runs.read(state)
    runs.note_asked(Settings(), "4711")
    with pytest.raises(ConfigError, match="names no runs"):
        runs.find(name)


def test_a_server_that_asks_for_many_runs_fills_no_disk(state: Path) -> None:
    runs = Runs.read(state)
    for seed in range(2 * MOST_ASKED):
        runs.note_asked(Settings(seed=seed), "1")
    runs.note_asked(Settings(class_names="x," * 60_000), "1")
    assert list(Runs.read(state).asked) == [run_hash(Settings(seed=seed)) for seed in range(MOST_ASKED, 2 * MOST_ASKED)]


def test_settings_that_are_not_those_of_their_hash_are_not_shown(state: Path) -> None:
    runs = Runs.read(state)
    runs.note_asked(Settings(), "1")
    file = state / FOLDER / "asked.json"
    file.write_text(file.read_text().replace('"rounds": 60', '"rounds": 6'))
    with pytest.raises(PolicyError, match="not those of its hash"):
        Runs.read(state).settings(run_hash(Settings()))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema_version": 1, "runs": {"a": 1}}', '{"schema_version": 2, "runs": {}}']
)
def test_a_damaged_list_approves_nothing(state: Path, text: str) -> None:
    (state / FOLDER / "approved.json").write_text(text)
    with pytest.raises(PolicyError, match="everything is refused"):
        Runs.read(state)


def test_the_ledger_adds_up_as_the_server_does(state: Path) -> None:
    for _ in range(3):
        Ledger.read(state).book("a", 2.0)
    assert Ledger.read(state).updates == {"a": 3}
    assert Ledger.read(state).epsilon(1e-5) == pytest.approx(spent(Settings(dp_noise=2.0), 3))
    assert Ledger.read(state).epsilon(1e-5, 2.0, 4) == pytest.approx(spent(Settings(dp_noise=2.0), 7))


def test_different_noise_adds_up_between_the_two(state: Path) -> None:
    ledger = Ledger.read(state)
    ledger.book("a", 2.0)
    ledger.book("a", 4.0)
    assert spent(Settings(dp_noise=4.0), 2) < ledger.epsilon(1e-5) < spent(Settings(dp_noise=2.0), 2)
    ledger.book("b", 0.0)
    assert ledger.epsilon(1e-5) == math.inf


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"schema_version": 1, "updates": {"a": -1}, "noises": {}}',
        '{"schema_version": 1, "updates": {}, "noises": {"x": 1}}',
    ],
)
def test_a_damaged_ledger_lets_nothing_leave(state: Path, text: str) -> None:
    (state / FOLDER / "ledger.json").write_text(text)
    with pytest.raises(PolicyError, match="everything is refused"):
        Ledger.read(state)


def test_the_summary_says_what_would_be_sent(state: Path) -> None:
    policy = SitePolicy(dp_noise=2.0, dp_clip=0.5, metrics=("results",), min_cell=5)
    about = summary(policy, Settings(rounds=10, seed=3), Ledger.read(state))
    assert (about["updates_at_most"], about["noise"], about["clip"]) == (20, 2.0, 0.5)
    assert about["epsilon_after"] == pytest.approx(spent(Settings(dp_noise=2.0), 20))
    assert about["changed"] == {"rounds": 10, "seed": 3}
    assert list(about["metrics"]) == ["results"]
    text = described(json.loads(json.dumps(about)))
    assert "at most 20 times (0 up to now)" in text
    assert "no count of fewer than 5 samples" in text
    none = described(summary(SitePolicy(), Settings(), Ledger.read(state)))
    assert "Privacy of the updates: epsilon none is promised." in none


def test_the_summary_says_that_sites_tell_of_their_columns(state: Path) -> None:
    agreeing = Settings(column_rules_from="federated")
    text = described(summary(SitePolicy(min_cell=8), agreeing, Ledger.read(state)))
    assert "once, for rules of columns: of each column of a table its kind, how many rows" in text
    assert "never of fewer than 8 rows" in text
    for policy, settings in ((SitePolicy(), Settings()), (SitePolicy(metrics=("results",)), agreeing)):
        assert "rules of columns" not in described(summary(policy, settings, Ledger.read(state)))


def test_the_summary_says_that_a_shared_head_leaves(state: Path) -> None:
    settings = Settings.from_run_config({"gp.prior-mean": "head", "objective": "softmax"})
    for given, named in ((settings, True), (Settings(), False)):
        assert ("softmax head" in described(summary(SitePolicy(), given, Ledger.read(state)))) == named
