"""The gate with the real app: what a policy lets through, what it keeps back, and that it fails closed."""

import json
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from pfedgp_core.config import Settings
from pfedgp_core.data.tables.summary import TableSummary
from pfedgp_core.learning.privacy import spent
from pfedgp_core.model.shared import SharedState
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.refusals import last_refusal
from pfedgp_core.policy.runs import Runs, run_hash
from pfedgp_core.policy.site_policy import FILE, FOLDER
from pfedgp_core.prior_choice import SHARED_HEAD
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import CONFIG
from server.flower.messages import request, request_config
from tests.client.site_requests import OWN, SPEC_OF_DIGITS, THETA, node
from tests.own_sites import archive, rows_of
from tests.pfedgp.site.gated import GatedSite, Spoil, fields_of, refused
from tests.ward_tables import rules_by_hand, ward, write
from tests.wire_parts import metrics_of, vector_of

ANY = 'runs = "any"\n'
EVERY_KIND = ("query.hello", "train", "evaluate")


def test_without_a_policy_replies_leave_as_they_are(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, None)
    assert [site.ask(kind).has_error() for kind in EVERY_KIND] == [False] * 3
    assert not (tmp_path / FOLDER).exists()


def test_an_empty_policy_lets_in_approved_runs_alone(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, "")
    assert all(refused(site.ask(kind)) for kind in EVERY_KIND)
    assert site.asked == 0
    assert list(Runs.read(tmp_path).asked) == [run_hash(OWN)]
    site.approve()
    assert not any(site.ask(kind).has_error() for kind in EVERY_KIND)
    assert refused(site.ask("train", OWN.replace(seed=1)))


def test_an_update_under_a_policy_has_the_bits_of_one_without(tmp_path: Path) -> None:
    (tmp_path / "free").mkdir()
    (tmp_path / "bound").mkdir()
    free, bound = GatedSite(tmp_path / "free", None), GatedSite(tmp_path / "bound", ANY + "max-update-norm = 1000\n")
    assert np.array_equal(vector_of(free.ask("train")), vector_of(bound.ask("train")))


@pytest.mark.parametrize(
    "spoilt", ["runs = 'any", "runs = 'all'", "rums = 'any'", "min-samples = -1", "hours = ['noon']", "\0", "[runs]"]
)
def test_a_policy_that_cannot_be_read_refuses_everything(tmp_path: Path, spoilt: str) -> None:
    site = GatedSite(tmp_path, spoilt)
    assert all(refused(site.ask(kind)) for kind in (*EVERY_KIND, "query.notice", "query.onboard"))
    assert site.asked == 0
    assert FILE in last_refusal(tmp_path)["reason"]
    assert FILE in site.said[0]


def test_a_policy_that_vanishes_meanwhile_lets_nothing_leave(tmp_path: Path) -> None:
    def remove(reply: Message) -> Message:
        for file in (tmp_path / FOLDER).iterdir():
            file.unlink()
        (tmp_path / FOLDER).rmdir()
        return reply

    assert refused(GatedSite(tmp_path, ANY, remove).ask("train"))


def test_a_policy_that_others_may_change_refuses_everything(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY)
    (tmp_path / FOLDER / FILE).chmod(0o666)
    assert refused(site.ask("query.hello"))


@pytest.mark.parametrize("name", ["approved.json", "ledger.json"])
def test_files_of_a_policy_that_are_damaged_refuse_updates(tmp_path: Path, name: str) -> None:
    site = GatedSite(tmp_path, ANY)
    assert not site.ask("train").has_error()
    (tmp_path / FOLDER / name).write_text("{")
    assert refused(site.ask("train"))


def test_the_site_adds_its_own_noise_and_books_it(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "dp-noise = 2.0\ndp-clip = 0.5\nmax-epsilon = 8\n")
    reply = site.ask("train")
    change = vector_of(reply) - THETA
    assert np.std(change) == pytest.approx(1.0, rel=0.05)  # noise 2 of norm 0.5 on each value
    assert "loss" not in metrics_of(reply)
    one = Ledger.read(tmp_path).epsilon(1e-5)
    assert one == spent(OWN.replace(dp_noise=2.0), 1)


def test_a_run_that_does_not_go_with_the_site_s_noise_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "dp-noise = 2.0\n")
    with_head = Settings.from_run_config(OWN.to_run_config() | {"gp.prior-mean": "head", "objective": "softmax"})
    assert [refused(site.ask(kind, with_head)) for kind in ("query.hello", "train", "evaluate")] == [True] * 3
    assert "gp.prior-mean = 'head' does not go with dp-noise" in site.said[-1]
    assert "--preset zero-mean" in last_refusal(tmp_path)["reason"]


def test_the_epsilon_of_all_runs_together_has_an_end(tmp_path: Path) -> None:
    two = spent(OWN.replace(dp_noise=2.0), 2)
    site = GatedSite(tmp_path, ANY + f"dp-noise = 2.0\nmax-epsilon = {two + 1e-6}\n")
    assert [site.ask("train", OWN.replace(seed=seed)).has_error() for seed in range(3)] == [False, False, True]
    assert "max-epsilon" in site.said[-1]
    assert Ledger.read(tmp_path).epsilon(1e-5) == pytest.approx(two)


def test_a_run_gets_so_many_updates(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "max-updates = 2\n")
    assert [refused(site.ask("train", round=round)) for round in (1, 1, 2)] == [False, False, True]


def test_a_run_gets_so_many_evaluations(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "max-evaluations = 2\n")
    assert not refused(site.ask("evaluate", split="test"))
    riding = site.ask("train", round=2, split="validation")
    assert "evaluation.sums.n" in metrics_of(riding)
    assert refused(site.ask("evaluate"))
    assert "gets 2" in site.said[-1]
    alone = site.ask("train", round=2, split="validation")
    assert fields_of(alone)["evaluation.error"] == "PolicyError"
    assert not any(key.startswith("evaluation.") for key in metrics_of(alone))
    assert not refused(site.ask("evaluate", OWN.replace(seed=1)))
    assert Ledger.read(tmp_path).evaluations == {run_hash(OWN): 2, run_hash(OWN.replace(seed=1)): 1}


def test_without_a_number_evaluations_have_an_end_too(tmp_path: Path) -> None:
    site, short = GatedSite(tmp_path, ANY), OWN.replace(rounds=2, evaluate_every=2)
    assert [refused(site.ask("evaluate", short)) for _ in range(13)] == 12 * [False] + [True]


def test_a_run_that_evaluates_too_often_is_refused(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "min-evaluate-every = 5\n")
    assert [refused(site.ask("query.hello", OWN.replace(evaluate_every=n))) for n in (4, 5)] == [True, False]
    assert "min-evaluate-every is 5" in site.said[0]


def test_a_ledger_of_a_former_version_has_no_evaluations(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY)
    site.ask("train")
    file = tmp_path / FOLDER / "ledger.json"
    about = json.loads(file.read_text())
    del about["evaluations"]
    file.write_text(json.dumps(about))
    assert refused(site.ask("evaluate"))
    file.write_text(json.dumps(about | {"schema_version": 1}))
    assert not refused(site.ask("evaluate"))
    assert Ledger.read(tmp_path).updates == {run_hash(OWN): 1}


@pytest.mark.parametrize("head", [False, True])
def test_a_long_update_does_not_leave_and_its_refusal_names_the_bound_that_lets_it_out(
    tmp_path: Path, head: bool
) -> None:
    site = GatedSite(tmp_path, ANY + "max-update-norm = 1e-6\n")
    run = Settings.from_run_config({**OWN.to_run_config(), **(SHARED_HEAD if head else {})})
    theta = SharedState.initial(run, SPEC_OF_DIGITS.input_shape, len(SPEC_OF_DIGITS.class_names)).to_vector()
    assert refused(site.ask("train", run, theta))
    said = site.said[-1]
    assert ("--preset zero-mean: a shared head makes updates about ten times as long" in said) is head
    bound = said.partition("set it to ")[2].partition(" or more")[0]
    (tmp_path / FOLDER / FILE).write_text(ANY + f"max-update-norm = {bound}\n")
    assert not refused(site.ask("train", run, theta))


def test_a_long_update_does_not_leave_encoded_or_not(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "max-update-norm = 1e-6\n")
    assert refused(site.ask("train"))
    assert refused(site.ask("train", OWN.replace(update_encoding="int8")))
    assert Ledger.read(tmp_path).updates == {}


def test_hours_hold_when_a_request_comes_and_when_its_reply_leaves(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "hours = ['Mon 12:00-13:00']\n")
    assert not site.ask("query.hello").has_error()
    site.now = site.now.replace(hour=13)
    assert refused(site.ask("query.hello"))
    assert site.asked == 1
    site.now = site.now.replace(hour=12)

    def late(reply: Message) -> Message:
        site.now = site.now.replace(hour=14)
        return reply

    site.spoil = late
    assert refused(site.ask("query.hello"))


def test_metrics_that_the_policy_keeps_back_do_not_leave(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + 'metrics = ["training"]\n')
    assert refused(site.ask("evaluate"))
    reply = site.ask("train", round=2, split="validation")
    assert fields_of(reply)["evaluation.error"] == "PolicyError"
    assert not any(key.startswith(("evaluation.", "seconds.")) for key in metrics_of(reply))
    assert "loss" in metrics_of(reply)


def test_no_bin_of_an_evaluation_is_below_the_floor(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "min-cell = 5\n")
    for split in ("validation", "test"):
        metrics = metrics_of(site.ask("evaluate", split=split))
        counts = [n for key, value in metrics.items() if key.endswith("bin_count") for n in value]
        assert sum(metrics["sums.bin_count"]) == metrics["sums.n"] > 5
        assert [n for n in counts if 0 < n < 5] == []
        assert not any("confusion" in key or "scores" in key for key in metrics)


def test_too_few_samples_are_not_spoken_of(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "min-samples = 10_000\n")
    assert all(refused(site.ask(kind)) for kind in ("query.hello", "train"))
    (tmp_path / FOLDER / FILE).write_text(ANY + "min-cell = 10_000\n")
    assert all(refused(site.ask(kind)) for kind in EVERY_KIND)


def test_the_last_refusal_says_why(tmp_path: Path) -> None:
    site = GatedSite(tmp_path, ANY + "methods = ['fedavg']\n")
    site.ask("train")
    told = json.loads((tmp_path / FOLDER / "refused.json").read_text())
    assert told["kind"] == "train"
    assert "no method 'pfedgp'" in told["reason"]


FEDERATED = OWN.replace(column_rules_from="federated")


def of_a_table(folder: Path, policy: str, spoil: Spoil = lambda reply: reply) -> GatedSite:
    site = GatedSite(folder, policy, spoil)
    rows = [row | {"stage": "IV"} if i < 7 else row for i, row in enumerate(ward(0))]
    site.node = node(write(folder / "ward.csv", rows), state=str(folder))
    return site


def first_greeting(site: GatedSite, settings: Settings) -> Message:
    return site.send(request("query.hello", 9, request_config(settings), None, 60.0))


def told(reply: Message) -> TableSummary:
    return Hello.from_wire(*unpack(reply.content.config_records[CONFIG])).table


def test_what_columns_hold_leaves_down_to_the_policy_s_floor(tmp_path: Path) -> None:
    stages = {}
    for floor in (0, 8):
        (folder := tmp_path / str(floor)).mkdir()
        site = of_a_table(folder, ANY + f"min-cell = {floor}\n")
        columns = told(first_greeting(site, FEDERATED)).columns
        stages[floor] = set(columns["stage"].values)
        assert columns["crp"].missing == (7 if floor == 0 else 0)
    assert stages == {0: {"I", "II", "IV"}, 8: {"I", "II"}}


def test_an_approved_run_stays_the_same_one_when_its_sites_have_agreed(tmp_path: Path) -> None:
    site = of_a_table(tmp_path, "")
    site.approve(FEDERATED)
    assert told(first_greeting(site, FEDERATED)).rows == 40
    again = site.send(request("query.hello", 9, request_config(FEDERATED, rules=rules_by_hand()), None, 60.0))
    hello = Hello.from_wire(*unpack(again.content.config_records[CONFIG]))
    assert hello.columns[:3] == ("age", "crp", "crp missing")
    assert not hello.summary


@pytest.mark.parametrize(
    ("policy", "settings", "reason"),
    [
        ('metrics = ["results"]\n', FEDERATED, "the policy keeps that at the site"),
        ("", OWN, "which the run does not ask for"),
    ],
)
def test_what_columns_hold_stays_where_the_policy_or_the_run_does_not_want_it(
    policy: str, settings: Settings, reason: str, tmp_path: Path
) -> None:
    def tell(reply: Message) -> Message:
        hello = json.loads(str(reply.content[CONFIG]["hello"]))
        reply.content[CONFIG]["hello"] = json.dumps({"summary": "[]"} | hello)
        return reply

    site = of_a_table(tmp_path, ANY + policy, tell)
    if settings is OWN:
        site.node = node(archive(tmp_path / "x.npz", rows_of(0, 1)), state=str(tmp_path))
    assert refused(first_greeting(site, settings))
    assert reason in last_refusal(tmp_path)["reason"]
