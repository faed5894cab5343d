"""How often certificates are wrong on ten hard distributions, with classifiers cheap enough for 10,000 draws of each.

A population is a finite set of points with weights and a law of labels at each, so the true error of a classifier is a
sum, and no test sample blurs it. Every draw is a sample of n and gives the progressive certificate of the classifiers
on the way, that of the deployed one with 40 unlabelled inputs, and the held-out certificate from n further samples.
Each is compared with the truth at delta = .05 and .01. A certificate is any classifier's, so three that suit the task
less and less take the place of a Gaussian process: the nearest neighbour, the nearest class mean, and one that looks
at its own errors and bets: it answers some points wrongly on purpose until the first error is seen. Such a one breaks
bounds that take the errors for independent.

    python experiments/certificate_violations.py --draws 10000

It ends with 1 where violations exceed delta by more than chance explains, and with the table as Markdown.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from experiments.hard_populations import POPULATIONS, Population
from experiments.too_often import ended, too_often
from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.mixture_martingale import mixture_bound
from pfedgp_core.certificate.pac_bayes import kl_inverse
from pfedgp_core.certificate.progressive import LABELLED_SHARE

DELTAS = (0.05, 0.01)
SIZES = (8, 20, 60)
UNLABELLED = 40
BLOCK = 500  # draws at a time
CERTIFICATES = ("on the way", "deployed", "held-out")


class Learner:
    """Many classifiers at once, one a draw: each learns a sample at a time and answers every point of the population.

    Parameters
    ----------
    population : Population
    draws : int
    """

    def __init__(self, population: Population, draws: int) -> None:
        self.population, self.draws = population, draws

    def answers(self) -> np.ndarray:
        """Labels of all points, int [draws, P]; -1 for none."""
        raise NotImplementedError

    def learn(self, points: np.ndarray, labels: np.ndarray, wrong: np.ndarray) -> None:
        """Take in a sample a draw, [draws] each; `wrong` says which were answered wrongly just before."""
        raise NotImplementedError


class NearestNeighbour(Learner):
    """The label of the nearest sample, of the first one among equals."""

    def __init__(self, population: Population, draws: int) -> None:
        super().__init__(population, draws)
        x = population.points
        self._distance = ((x[:, None] - x[None]) ** 2).sum(-1)
        self._nearest = np.full((draws, len(x)), np.inf)
        self._labels = np.full((draws, len(x)), -1)

    def answers(self) -> np.ndarray:
        """See `Learner`."""
        return self._labels.copy()

    def learn(self, points: np.ndarray, labels: np.ndarray, wrong: np.ndarray) -> None:
        """See `Learner`."""
        distance = self._distance[points]
        nearer = distance < self._nearest
        self._nearest = np.where(nearer, distance, self._nearest)
        self._labels = np.where(nearer, labels[:, None], self._labels)


class ClassMean(Learner):
    """The class with the nearest mean; the lowest one among equals."""

    def __init__(self, population: Population, draws: int) -> None:
        super().__init__(population, draws)
        classes = population.law.shape[1]
        self._sums = np.zeros((draws, classes, population.points.shape[1]))
        self._counts = np.zeros((draws, classes))

    def answers(self) -> np.ndarray:
        """See `Learner`."""
        seen = self._counts > 0
        means = self._sums / np.maximum(self._counts, 1)[..., None]
        score = np.einsum("pd,nkd->npk", self.population.points, means) - (means**2).sum(-1)[:, None] / 2
        answers = np.where(seen[:, None], score, -np.inf).argmax(-1)
        return np.where(seen.any(1)[:, None], answers, -1)

    def learn(self, points: np.ndarray, labels: np.ndarray, wrong: np.ndarray) -> None:
        """See `Learner`."""
        rows = np.arange(self.draws)
        self._sums[rows, labels] += self.population.points[points]
        self._counts[rows, labels] += 1


class Gambler(Learner):
    """The best possible answers, but wrong ones at about a fifth of the mass until an error is seen."""

    def __init__(self, population: Population, draws: int) -> None:
        super().__init__(population, draws)
        self._best = population.law.argmax(1)
        order = np.argsort(population.weights)
        risky = order[np.cumsum(population.weights[order]) <= 0.2]
        self._risky = self._best.copy()
        self._risky[risky] = (self._best[risky] + 1) % population.law.shape[1]
        self._caught = np.zeros(draws, bool)

    def answers(self) -> np.ndarray:
        """See `Learner`."""
        return np.where(self._caught[:, None], self._best, self._risky)

    def learn(self, points: np.ndarray, labels: np.ndarray, wrong: np.ndarray) -> None:
        """See `Learner`."""
        self._caught |= wrong


LEARNERS = {"nearest neighbour": NearestNeighbour, "class mean": ClassMean, "gambler": Gambler}


class Draws(NamedTuple):
    """What a block of draws gave, arrays [draws]: numbers that the certificates are made of, and the truth."""

    errors: np.ndarray
    steps: int
    disagreement: np.ndarray
    held_out_errors: np.ndarray
    risk_on_the_way: np.ndarray
    risk_deployed: np.ndarray


@dataclass
class Outcome:
    """Violations and mean bounds by certificate and delta, over all draws of a setting."""

    draws: int = 0
    violations: dict[tuple[str, float], int] = field(default_factory=dict)
    bounds: dict[tuple[str, float], float] = field(default_factory=dict)
    risk: float = 0.0

    def excess(self) -> list[str]:
        """The certificates that were wrong more often than delta and chance explain."""
        return [
            f"{name} at delta {delta:g}: {count} of {self.draws}"
            for (name, delta), count in self.violations.items()
            if too_often(count, self.draws, delta)
        ]


def simulate(population: Population, learner: str, n: int, draws: int, seed: int) -> Outcome:
    """Certify `draws` samples of n points."""
    outcome = Outcome()
    for block, size in enumerate(_blocks(draws)):
        rng = np.random.default_rng([seed, n, block, *population.name.encode(), *learner.encode()])
        found = _draw(population, LEARNERS[learner](population, size), n, rng)
        outcome.draws += size
        outcome.risk += float(found.risk_deployed.sum()) / draws
        for delta in DELTAS:
            truths = (found.risk_on_the_way, found.risk_deployed, found.risk_deployed)
            for name, bound, truth in zip(CERTIFICATES, certified(found, n, delta), truths, strict=True):
                key = (name, delta)
                # Sums of weights have rounding errors of their own.
                outcome.violations[key] = outcome.violations.get(key, 0) + int((truth > bound + 1e-12).sum())
                outcome.bounds[key] = outcome.bounds.get(key, 0.0) + float(bound.sum()) / draws
    return outcome


def certified(found: Draws, n: int, delta: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds of `CERTIFICATES`, [draws] each; the first spends all of delta, the second its parts."""
    alone, with_inputs = (
        np.array([mixture_bound(e, found.steps, share * delta) for e in range(found.steps + 1)])[found.errors]
        for share in (1.0, LABELLED_SHARE)
    )
    apart = kl_inverse(found.disagreement.clip(0, 1), -math.log((1 - LABELLED_SHARE) * delta) / UNLABELLED)
    held_out = np.array([clopper_pearson(e, n, delta) for e in range(n + 1)])[found.held_out_errors]
    return alone, np.minimum(1.0, with_inputs + apart), held_out


def _blocks(draws: int) -> Iterator[int]:
    for first in range(0, draws, BLOCK):
        yield min(BLOCK, draws - first)


def _draw(population: Population, learner: Learner, n: int, rng: np.random.Generator) -> Draws:
    draws, rows = learner.draws, np.arange(learner.draws)
    points, labels = population.sample(draws, n, rng)
    errors, risks, on_the_way = np.zeros(draws, int), [], []
    for t in range(n):
        answers = learner.answers()
        wrong = answers[rows, points[:, t]] != labels[:, t]
        if t >= n // 2:
            errors += wrong
            risks.append(population.risk(answers))
            on_the_way.append(answers)
        learner.learn(points[:, t], labels[:, t], wrong)
    deployed = learner.answers()
    differs = np.mean([answers != deployed for answers in on_the_way], axis=0)  # [draws, P]
    unlabelled = rng.multinomial(UNLABELLED, population.weights, size=draws) / UNLABELLED
    kept_points, kept_labels = population.sample(draws, n, rng)
    kept_errors = (deployed[rows[:, None], kept_points] != kept_labels).sum(1)
    return Draws(
        errors,
        n - n // 2,
        (differs * unlabelled).sum(1),
        kept_errors,
        np.mean(risks, axis=0),
        population.risk(deployed),
    )


def main() -> int:
    """Run all settings, one thread; 1 where a certificate is wrong too often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000, help="samples of each setting")
    parser.add_argument("--n", type=int, nargs="+", default=list(SIZES), help="sample sizes")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    header = ["population", "classifier", "n", "draws", *(f"{c}, {d:g}" for d in DELTAS for c in CERTIFICATES)]
    print("| " + " | ".join([*header, "error", "deployed at most, 0.05"]) + " |")
    print("|" + "---|" * (len(header) + 2))
    excess = []
    for population in POPULATIONS:
        for learner in LEARNERS:
            for n in args.n:
                outcome = simulate(population, learner, n, args.draws, args.seed)
                shares = [f"{outcome.violations[c, d] / outcome.draws:.4f}" for d in DELTAS for c in CERTIFICATES]
                cells = [population.name, learner, str(n), str(outcome.draws), *shares]
                cells += [f"{outcome.risk:.3f}", f"{outcome.bounds['deployed', 0.05]:.3f}"]
                print("| " + " | ".join(cells) + " |", flush=True)
                excess += [f"{population.name}, {learner}, n = {n}: {text}" for text in outcome.excess()]
    return ended(excess)


if __name__ == "__main__":
    raise SystemExit(main())
