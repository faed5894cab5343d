"""How far the iterative solver's probabilities are from the dense ones, and what both cost.

    python experiments/solver_accuracy.py [--model out/RUN/best] [--data-root FILE] [--sizes 100 200 400 900]

Both solvers get the same omega (of the dense sampler), so the difference is the solver's alone. For scale: two sets of
30 chains differ by about 1e-2. Prints Markdown tables, which docs/solver.md has: with a model, training and prediction
on its features; without, prediction on points that are made, at several output scales.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.samples import Split, normalised
from pfedgp_core.gp.fitc import FITC
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
PREDICT_CHAINS, PREDICT_SWEEPS = 30, 20
TARGETS = 100


def clusters(n: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Two overlapping clusters whose spectrum decays as that of trained features does: points [n, 30] and sides [n]."""
    generator = torch.Generator().manual_seed(seed)
    scale = torch.linspace(1, 0, 30, dtype=torch.float64) ** 3
    labels = torch.arange(n) % 2
    centres = torch.randn(2, 30, generator=generator, dtype=torch.float64)
    points = 0.4 * centres[labels] + torch.randn(n, 30, generator=generator, dtype=torch.float64) * scale
    return unit_sphere(points).to(dtype), labels


def overlapping(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two classes with labels of which many are wrong: points [n, 20] and sides [n]."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(n, 20, generator=generator)
    return unit_sphere(points), (points[:, 0] + points[:, 1] + 0.8 * torch.randn(n, generator=generator) > 0).long()


def separable(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Two classes far apart: points [n, 16] and sides [n]."""
    labels = torch.arange(n) % 2
    points = torch.randn(n, 16, generator=torch.Generator().manual_seed(seed))
    points[:, 0] += 3 * (2 * labels - 1)
    return unit_sphere(points), labels


def pixels(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Digits as they are, odd or even: points [n, 64] and sides [n]."""
    images, digits = load_digits(return_X_y=True)
    rows = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))[:n]
    return unit_sphere(torch.from_numpy(images).float()[rows] - 8), torch.from_numpy(digits)[rows] % 2


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


def predict(points: Tensor, left: Tensor, n: int, scale: float, inducing: int = 0) -> str:
    """Cells about predictions without a gradient.

    Largest and mean dp at the mean omega and of the solver, the largest at training points of both, and times.
    """
    kernel = make_kernel("rbf", scale, 1.0)
    with torch.no_grad():
        near = points[:n][:: max(1, n // max(inducing, 1))][:inducing]
        through = unit_sphere(near + 0.1 * torch.randn(near.shape, generator=torch.Generator().manual_seed(n)))
        exact, fast = (
            FITC(kernel, points[:n], left[:n], through, 1e-3, solver=solver)
            if inducing
            else FullGP(kernel, points[:n], left[:n], 1e-3, solver=solver)
            for solver in ("dense", "iterative")
        )
        omega = exact.sample_omega(PREDICT_CHAINS, PREDICT_SWEEPS, Stream(0, "omega"))

        def differences(at: Tensor) -> list[Tensor]:
            mu, v = exact.predict(at, omega)
            _, at_mean = exact.predict(at, omega.mean(0, keepdim=True))
            wanted = node_log_probabilities(mu, v)[0].exp()
            found = (mu, at_mean.expand_as(v)), fast.predict(at, omega)
            return [(node_log_probabilities(*moments)[0].exp() - wanted).abs() for moments in found]

        cells = [f"{each.max():.1e}, {each.mean():.1e}" for each in differences(points[n:])]
        cells.append(", ".join(f"{each.max():.1e}" for each in differences(points[: min(n, TARGETS)])))
        times = [cpu_ms(lambda gp=gp: gp.predict(points[n:], omega)) for gp in (exact, fast)]
    return f"{' | '.join(cells)} | {times[0]:.1f} / {times[1]:.1f}"


def compare(features: Tensor, left: Tensor, n: int, scale: float) -> str:
    """A row of the table for a node of n training points; the other points are predicted."""
    kernel = make_kernel("rbf", scale, 1.0)

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
        f"| {scale:g} | {n} | {len(features) - n} | {difference.mean():.1e} | {difference.max():.1e} | {relative:.1e} "
        f"| {gibbs[0]:.0f} / {gibbs[1]:.0f} | {step[0]:.0f} / {step[1]:.0f} "
        f"| {predict(on_sphere.detach(), left, n, scale)} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="best/ or final/ of a run; without it points are made")
    parser.add_argument("--data-root", default="", help="where the run's data set lies, if it has moved")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 400, 900])
    parser.add_argument("--scales", type=float, nargs="+", default=[8.0, 32.0, 128.0], help="output scales")
    parser.add_argument("--inducing", type=int, default=0, help="without a model: through so many inducing inputs")
    args = parser.parse_args()
    torch.set_num_threads(1)
    predicted = "at the mean omega: largest, mean dp | solver: largest, mean dp | at training points: largest of both"
    predicted += " | predict ms dense / iterative |"
    if args.model is None:
        print(f"| points | output scale | n | {predicted}\n|" + "---|" * 7)
        for made in (clusters, overlapping, separable, pixels):
            for scale in args.scales:
                for n in args.sizes:
                    points, labels = made(n + TARGETS, n)
                    cells = predict(points, labels > 0, n, scale, args.inducing)
                    print(f"| {made.__name__} | {scale:g} | {n} | {cells} |", flush=True)
        return
    columns = "output scale | n | T | mean dp | largest dp | gradient, relative | Gibbs ms dense / iterative"
    print(f"| {columns} | step ms dense / iterative | {predicted}\n|" + "---|" * 12)
    for scale in args.scales:
        for n in args.sizes:
            features, left = trained_features(args.model, args.data_root, 2 * n)
            if len(features) <= n:
                break
            print(compare(features, left, n, scale), flush=True)


if __name__ == "__main__":
    main()
