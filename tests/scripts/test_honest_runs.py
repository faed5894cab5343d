"""scripts/honest_runs.py: the same runs with the bound and without, in one row."""

from collections import Counter

from scripts import honest_runs
from scripts.attacks.federation import Outcome
from scripts.honest_runs import NONE, HonestRun, comparisons


def test_the_runs_of_a_row_differ_by_the_bound_alone() -> None:
    row = comparisons()["digits, 20 clients, 2 classes each"]
    assert [run.settings for run in row.runs(**NONE)] == [r.settings.replace(clip_updates=0.0) for r in row.runs()]


def test_all_clients_are_measured() -> None:
    assert HonestRun(comparisons()["digits, 2 clients, 5 classes each"].settings).attackers == ()


def test_cifar_needs_its_data() -> None:
    cifar = comparisons("some.npz").keys() - comparisons().keys()
    assert cifar == {"CIFAR-10, 500 clients, 2 classes each"}


def test_a_row_has_both_means_and_counts_what_was_shortened() -> None:
    name, row = next(iter(comparisons().items()))
    found = {run: Outcome(0.9) for run in row.runs(**NONE)}
    found |= {run: Outcome(0.92, 0.0, 300, 2.04, Counter({"client-00": 2})) for run in row.runs()}
    line = honest_runs.table({name: row}, found).splitlines()[2]
    assert line == f"| {name} | 60 | 3 | 90.00 | 92.00 | 6 of 900 | 0 | 2.0 |"
