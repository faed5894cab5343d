"""How often the risk of answers is larger than stated, where the true risk of every threshold is known.

A population has a few confidences, each with a weight and a share of wrong answers; the hard ones have errors where
the confidence is highest, or a risk just above the one asked for at all thresholds or below one of them. A draw
chooses a threshold from n labelled samples: at a site, with a reference of 50 further confidences, or from the bins of
a federation, with as many validation as test samples. It is a violation where the true risk of what is answered is
above the one asked for. Draws without any threshold that passes are none, and are counted apart.

    python -m experiments.risk_violations --draws 10000

It ends with 1 where violations exceed delta by more than chance explains.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from experiments.too_often import ended, too_often
from pfedgp_core.certificate.selective import Candidate, choose_threshold, from_bins, from_confidences
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums, metric_sums

REFERENCE = 50


@dataclass(frozen=True, eq=False)
class Population:
    """Confidences from 1/2 on, ascending, with the probability of each and the share of wrong answers at it."""

    name: str
    confidence: np.ndarray
    weights: np.ndarray
    wrong: np.ndarray

    def risk(self, threshold: float) -> float:
        """True share of wrong answers among those that are given."""
        given = self.confidence >= threshold
        return float((self.weights * self.wrong)[given].sum() / self.weights[given].sum()) if given.any() else 0.0


GRID = np.linspace(0.52, 0.999, 24)
EQUAL = np.full(24, 1 / 24)
TOP = np.r_[np.full(23, 0.2 / 23), 0.8]


def populations(risk: float) -> tuple[Population, ...]:
    """Hard ones for this risk."""
    above = risk * 1.01
    step = np.where(GRID > 0.8, 0.2 * risk, 3 * risk)
    return (
        Population("as confident as right", GRID, EQUAL, 1 - GRID),
        Population("mostly sure, as confident as right", GRID, TOP, 1 - GRID),
        Population("just above the risk everywhere", GRID, EQUAL, np.full(24, above)),
        Population("just above the risk everywhere, mostly sure", GRID, TOP, np.full(24, above)),
        Population("wrong where it is surest", GRID, EQUAL, np.where(GRID > 0.95, 5 * risk, 0.0)),
        Population("few errors above 0.8, many below", GRID, EQUAL, step),
    )


def draw(population: Population, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and whether the answers are wrong, [n] each."""
    places = rng.choice(len(population.weights), n, p=population.weights)
    return population.confidence[places], rng.random(n) < population.wrong[places]


def sums(confidence: np.ndarray, wrong: np.ndarray) -> MetricSums:
    """As a client of two classes would send them."""
    return metric_sums(np.stack([confidence, 1 - confidence], 1), wrong.astype(int))


def candidates(where: str, population: Population, n: int, delta: float, rng: np.random.Generator) -> list[Candidate]:
    """At a "site", or of a "federation"."""
    confidence, wrong = draw(population, n, rng)
    if where == "site":
        return from_confidences(confidence, wrong, draw(population, REFERENCE, rng), delta)
    return from_bins(sums(confidence, wrong), sums(*draw(population, n, rng)), delta)


def simulate(
    where: str, population: Population, n: int, risk: float, delta: float, draws: int, seed: int
) -> list[float]:
    """True risks of the chosen thresholds; one a draw that found one."""
    risks = []
    for number in range(draws):
        rng = np.random.default_rng([seed, n, number, *population.name.encode(), *where.encode()])
        try:
            rule = choose_threshold(candidates(where, population, n, delta, rng), n, risk, delta)
        except DataError:
            continue
        risks.append(population.risk(rule.threshold))
    return risks


def main() -> int:
    """Run all settings, one thread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000, help="samples of each setting")
    parser.add_argument("--risk", type=float, default=0.02)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--n", type=int, nargs="+", default=[200, 400, 1000], help="labelled samples")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| where | population | n | violated | no threshold |\n|---|---|---|---|---|")
    excess = []
    for where in ("site", "federation"):
        for population in populations(args.risk):
            for n in args.n:
                risks = simulate(where, population, n, args.risk, args.delta, args.draws, args.seed)
                violations = sum(risk > args.risk for risk in risks)
                shares = [f"{violations / args.draws:.4f}", f"{1 - len(risks) / args.draws:.3f}"]
                print("| " + " | ".join([where, population.name, str(n), *shares]) + " |", flush=True)
                if too_often(violations, args.draws, args.delta):
                    excess.append(f"{where}, {population.name}, n = {n}")
    return ended(excess)


if __name__ == "__main__":
    raise SystemExit(main())
