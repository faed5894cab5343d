"""How far the iterative solver's probabilities are from the dense ones, and what both cost, on trained features.

    python experiments/solver_accuracy.py --model out/RUN/best [--data-root FILE] [--sizes 100 200 400 900]

Both solvers get the same omega (20 chains, 5 sweeps of the dense sampler), so the difference is the solver's alone.
For scale: two sets of 30 chains differ by about 1e-2. Prints a markdown table; docs/solver.md holds this project's.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.samples import Split, normalised
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.objectives import predictive_losses
from server.run.model_file import load_model

CHAINS, SWEEPS = 20, 5


def trained_features(model: Path, data_root: str, points: int) -> tuple[Tensor, Tensor]:
    """Features of `points` training samples, half of each of the two classes that the model confuses most easily."""
    vector, meta = load_model(model)
    settings = Settings.from_run_config(meta["settings"])
    dataset = load_dataset(settings.dataset, data_root or settings.data_root, settings.seed)
    state = SharedState.initial(settings, dataset.input_shape, len(dataset.class_names))
    state.load_vector(vector)
    everything = Split(
        np.concatenate([s.inputs for s in dataset.splits().values()]),
        np.concatenate([s.labels for s in dataset.splits().values()]),
    )
    rng = np.random.default_rng(0)
    classes = (3, 5)  # cat and dog, or the digits 3 and 5
    rows = [rng.permutation(np.flatnonzero(everything.labels == c))[: points // 2] for c in classes]
    chosen = rng.permutation(np.concatenate(rows))
    data = normalised(Split(everything.inputs[chosen], everything.labels[chosen]), dataset.mean, dataset.std)
    return compute_features(state.network, data.inputs), data.labels == classes[0]


def cpu_ms(work: Callable[[], object], repeats: int = 3) -> float:
    """Least CPU milliseconds of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1e3 * best


def compare(features: Tensor, left: Tensor, n: int) -> str:
    """A row of the table for a node of n training points; the other points are predicted."""
    kernel = make_kernel("rbf", 8.0, 1.0)

    def node(points: Tensor, solver: str) -> FullGP:
        return FullGP(kernel, points[:n], left[:n], 1e-3, solver=solver)

    on_sphere = unit_sphere(features)
    omega = node(on_sphere, "dense").sample_omega(CHAINS, SWEEPS, Stream(0, "omega"))
    probabilities, gradients, gibbs, step = [], [], [], []
    for solver in ("dense", "iterative"):

        def update(solver: str = solver) -> tuple[Tensor, Tensor]:
            leaf = features.clone().requires_grad_()
            points = unit_sphere(leaf)
            mu, v = node(points, solver).predict(points[n:], omega)
            predictive_losses(mu, v, left[n:], 32).mean().backward()
            probability = node_log_probabilities(mu.detach(), v.detach())[0].exp()
            assert leaf.grad is not None
            return probability, leaf.grad

        probability, gradient = update()
        probabilities.append(probability)
        gradients.append(gradient)
        step.append(cpu_ms(update))
        model = node(on_sphere, solver)
        gibbs.append(cpu_ms(lambda model=model: model.sample_omega(CHAINS, SWEEPS, Stream(0, "time"))))
    difference = (probabilities[0] - probabilities[1]).abs()
    relative = ((gradients[0] - gradients[1]).norm() / gradients[0].norm()).item()
    return (
        f"| {n} | {len(features) - n} | {difference.mean():.1e} | {difference.max():.1e} | {relative:.1e} "
        f"| {gibbs[0]:.0f} / {gibbs[1]:.0f} | {step[0]:.0f} / {step[1]:.0f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="best/ or final/ of a run")
    parser.add_argument("--data-root", default="", help="where the run's data set lies, if it has moved")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400, 900])
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "| n | T | mean dp | largest dp | gradient, relative | Gibbs ms dense / iterative | step ms dense / iterative |"
    )
    print("|---|---|---|---|---|---|---|")
    for n in args.sizes:
        features, left = trained_features(args.model, args.data_root, 2 * n)
        if len(features) <= n:
            break
        print(compare(features, left, n), flush=True)


if __name__ == "__main__":
    main()
