"""Whether two commits train the same models to the bit: simulations of every variant and seed, tensor by tensor.

    python scripts/compare_commits.py BEFORE AFTER [--rounds 10] [--seeds 0 1] [--no-regression]

Both commits run with the packages of this environment. Exit code 0: all models are the same; 1: one differs; 2: a
simulation failed.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from commit_trees import CommitTree, ToolError
from safetensors.numpy import load_file

MODELS = ("best", "final")
VARIANTS = ("full", "ip-data", "ip-compute")
REGRESSION = ("--dataset", "diabetes", "--set", "task=regression")


@dataclass(frozen=True)
class Simulation:
    """One simulation that both commits run.

    Attributes
    ----------
    task : str
        ``classification`` or ``regression``.
    variant : str
    seed : int
    """

    task: str
    variant: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task} {self.variant} seed {self.seed}"

    def run(self, tree: CommitTree, rounds: int, out: Path) -> None:
        """Run it with the code of `tree`, with the results in the folder `out`."""
        options = ("--variant", self.variant, "--seed", str(self.seed), "--rounds", str(rounds), "--out", str(out))
        tree.pfedgp("simulate", *options, *(REGRESSION if self.task == "regression" else ()))


def difference(before: Path, after: Path) -> str:
    """What is different between two files of tensors; empty where they are the same to the bit."""
    old, new = load_file(before), load_file(after)
    if set(old) != set(new):
        return f"names of tensors: {', '.join(sorted(set(old) ^ set(new)))}"
    for name, tensor in old.items():
        if (tensor.dtype, tensor.shape) != (new[name].dtype, new[name].shape):
            return f"{name}: {tensor.dtype}{list(tensor.shape)} became {new[name].dtype}{list(new[name].shape)}"
        if tensor.tobytes() != new[name].tobytes():
            many = np.count_nonzero(tensor.view(np.uint8) != new[name].view(np.uint8))
            largest = np.abs(tensor.astype(np.float64) - new[name].astype(np.float64)).max()
            return f"{name}: {many} bytes of {tensor.nbytes}, values by up to {largest:.1e}"
    return ""


def main() -> int:
    """Run all simulations with both commits, and print a line for each."""
    parser = argparse.ArgumentParser(description="Compare the models that two commits train, to the bit.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--no-regression", action="store_true", help="only the classification of digits")
    args = parser.parse_args()
    tasks = ("classification",) if args.no_regression else ("classification", "regression")
    simulations = [
        Simulation(task, variant, seed) for task in tasks for variant in args.variants for seed in args.seeds
    ]
    differing = 0
    with tempfile.TemporaryDirectory(prefix="pfedgp-commits-") as name:
        folder = Path(name)
        trees = [CommitTree.take(commit, folder / str(i)) for i, commit in enumerate((args.before, args.after))]
        print(f"before {trees[0].hash[:12]}, after {trees[1].hash[:12]}, {args.rounds} rounds", flush=True)
        for number, simulation in enumerate(simulations):
            outs, seconds = [folder / f"run-{number}-{i}" for i in range(2)], []
            for tree, out in zip(trees, outs, strict=True):
                started = time.perf_counter()
                simulation.run(tree, args.rounds, out)
                seconds.append(time.perf_counter() - started)
            found = {model: difference(*(out / model / "model.safetensors" for out in outs)) for model in MODELS}
            differing += any(found.values())
            cells = [f"{model}: {text or 'same'}" for model, text in found.items()]
            print(f"{simulation!s:34}  {'  '.join(cells)}  ({seconds[0]:.0f} s, {seconds[1]:.0f} s)", flush=True)
    print(f"{len(simulations) - differing} of {len(simulations)} simulations have the same models to the bit")
    return 1 if differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ToolError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
