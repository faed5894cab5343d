"""What two commits cost, measured in turn: pairs of ``pfedgp bench`` runs, and the median of the ratios after/before.

    python scripts/bench_commits.py BEFORE AFTER [--pairs 5] [--bench "--classes 2 10 --n 80 400"]
    python scripts/bench_commits.py BEFORE AFTER --deploy [--sites 2] [--rounds 40]

In each pair both commits run one after the other, in random order, so that a change of the machine's speed meets both.
Exit code 1: some measure is above the limit (``--limit``, 1.03).
"""

import argparse
import json
import random
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from commit_trees import CommitTree, ToolError

# Measured on both sides of a pair. The epoch is plain training, which no commit changes: how far its ratio is from 1
# says how noisy the machine was.
UPDATES = ("update_cpu_s", "evaluate_cpu_s", "predict_cpu_s", "epoch_cpu_s")
ROUNDS = ("round_s", "site_cpu_s_per_message", "server_cpu_s_per_message")
CONTROL = "epoch_cpu_s"
# The verb `bench --deploy` also measures Flower's own SuperNode, which takes minutes and is the same in both commits.
DEPLOYED = """
import json, sys
from pfedgp.benchmarking.deployment import DeployedCase, measure
sites, rounds, file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
cases = [measure(DeployedCase(sites, False, database), rounds, idle_seconds=1.0) for database in (True, False)]
json.dump(cases, open(file, "w"))
"""

Measured = dict[str, Mapping[str, float]]  # case -> measure -> value


def client_costs(tree: CommitTree, options: str, file: Path) -> Measured:
    """One run of ``pfedgp bench`` with the given options."""
    tree.pfedgp("bench", "--json", str(file), *shlex.split(options))
    cases: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["cases"]
    return {f"{case['variant']}, {case['classes']} classes, n {case['n']}": case for case in cases}


def round_costs(tree: CommitTree, sites: int, rounds: int, file: Path) -> Measured:
    """Rounds of deployments with and without a database."""
    tree.python("-c", DEPLOYED, str(sites), str(rounds), str(file))
    cases: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return {f"{case['sites']} sites, {'' if case['database'] else 'no '}database": case for case in cases}


def pairs_of(trees: list[CommitTree], count: int, measure: Callable[[CommitTree], Measured]) -> list[list[Measured]]:
    """Measure `count` pairs of (before, after), each in random order."""
    pairs = []
    for number in range(count):
        order = random.sample([0, 1], 2)
        done = {i: measure(trees[i]) for i in order}
        pairs.append([done[0], done[1]])
        print(f"pair {number + 1} of {count} ({'before' if order[0] == 0 else 'after'} first)", flush=True)
    return pairs


def report(pairs: list[list[Measured]], measures: tuple[str, ...], limit: float) -> bool:
    """Print the ratios of all cases; whether none that counts is above the limit.

    Where there is a control, a measure is too slow only if it is so by itself and relative to the control of its own
    run: a change of the code raises both, the machine's noise one of them.
    """
    good = True
    print(f"\nratios after/before: median of {len(pairs)} pairs (smallest-largest); above {limit:g} is too slow")
    for case in pairs[0][0]:
        print(case)
        control = [after[case].get(CONTROL, 1.0) / before[case].get(CONTROL, 1.0) for before, after in pairs]
        for key in measures:
            ratios = [after[case][key] / before[case][key] for before, after in pairs]
            middle = median(ratios)
            relative = median(ratio / each for ratio, each in zip(ratios, control, strict=True))
            slow = key != CONTROL and min(middle, relative) > limit
            good &= not slow
            beside = "the machine's noise" if key == CONTROL else f"beside the epoch {relative:.3f}"
            print(
                f"  {key:26} {middle:6.3f} ({min(ratios):.3f}-{max(ratios):.3f})",
                *([f"  {beside}"] if CONTROL in measures else []),
                *([f"  after: {median(after[case][key] for _, after in pairs):.4f}"]),
                *(["  TOO SLOW"] if slow else []),
                sep="",
            )
        if CONTROL in measures:
            costs = [[pair[side][case] for pair in pairs] for side in (0, 1)]
            of_epoch = [median(cost["update_cpu_s"] / cost[CONTROL] for cost in side) for side in costs]
            print(f"  update over its epoch: before {of_epoch[0]:.3f}, after {of_epoch[1]:.3f}")
    return good


def main() -> int:
    """Measure both commits in turn and compare."""
    parser = argparse.ArgumentParser(description="Compare what two commits cost, measured in turn.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.03, help="largest median ratio (default: 1.03)")
    parser.add_argument("--bench", default="--classes 2 10 --n 80 400", help="options of pfedgp bench, in quotes")
    parser.add_argument("--deploy", action="store_true", help="measure deployed rounds instead")
    parser.add_argument("--sites", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pfedgp-commits-") as name:
        folder = Path(name)
        trees = [CommitTree.take(commit, folder / str(i)) for i, commit in enumerate((args.before, args.after))]
        print(f"before {trees[0].hash[:12]}, after {trees[1].hash[:12]}", flush=True)
        file = folder / "measured.json"

        def measure(tree: CommitTree) -> Measured:
            if args.deploy:
                return round_costs(tree, args.sites, args.rounds, file)
            return client_costs(tree, args.bench, file)

        pairs = pairs_of(trees, args.pairs, measure)
    return 0 if report(pairs, ROUNDS if args.deploy else UPDATES, args.limit) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ToolError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
