"""How often the certificate with a prior of some of the samples is wrong, on ten populations that are hard for it.

Every draw is a sample of n, on which a classifier of the product is fitted and certified by
`pfedgp_core.certificate.data_prior` at delta = .05 and .01. A population is a finite set of points, so true risks are
sums. A draw is violated where the true risk of the randomised classifier, the true probability of wrong classes or the
true error of the vote is above its bound: delta covers them together. The error of the deployed classifier is compared
with its bound from 40 unlabelled inputs. Few chains and sweeps keep it cheap; any omega makes a valid certificate.

    python -m experiments.data_prior_violations --draws 10000

It ends with 1 where violations exceed delta by more than chance explains, and with the table as Markdown.
"""

import argparse
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.special import rel_entr

from experiments.certificate_violations import DELTAS, UNLABELLED
from experiments.hard_populations import POPULATIONS, Population
from experiments.too_often import ended, too_often
from pfedgp_core.certificate.data_prior import (
    PRIOR_SHARE,
    ROUNDING,
    UNLABELLED_SHARE,
    DataPrior,
    compare_with_data_prior,
)
from pfedgp_core.certificate.pac_bayes import epsilon, kl_inverse
from pfedgp_core.certificate.risk import class_probabilities
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier

SETTINGS = Settings(gp=GPSettings(predict_chains=4, predict_sweeps=3))
NAMES = ("Gibbs", "wrong probability", "vote", "deployed")


@dataclass
class Outcome:
    """Draws that had two classes: what certificates are made of, and the truth.

    Attributes
    ----------
    made : list of DataPrior
    apart : list of (float, int)
    true : list of list of float
        [Gibbs, wrong probability, vote, deployed].
    """

    made: list[DataPrior] = field(default_factory=list)
    apart: list[tuple[float, int]] = field(default_factory=list)
    true: list[list[float]] = field(default_factory=list)

    def bounds(self, delta: float) -> np.ndarray:
        """Bounds of `NAMES`, [draws, 4], as `bound_data_prior` gives them one by one."""
        share = UNLABELLED_SHARE * delta
        empirical = np.clip([made.empirical for made in self.made], 0, 1 - ROUNDING) + ROUNDING
        eps = [float(epsilon(made.kl + made.price, made.tested, (delta - share) / 2, "sum")) for made in self.made]
        sign, soft = np.minimum(kl_inverse(empirical, np.array(eps)[:, None]), 1.0).T
        differs, inputs = np.array(self.apart).T
        vote = np.minimum(1.0, 2 * soft)
        return np.stack([sign, soft, vote, np.minimum(1.0, vote + kl_inverse(differs, -np.log(share) / inputs))], 1)

    def exponents(self) -> np.ndarray:
        """The larger n_B kl(empirical || true) - KL - price of both losses; fails over log(xi / delta_l). [draws]."""
        tested, spent = np.array([(made.tested, made.kl + made.price) for made in self.made]).T
        q, p = np.array([made.empirical for made in self.made]), np.array(self.true)[:, :2]
        gaps = np.where(p > q, rel_entr(q, p) + rel_entr(1 - q, 1 - p), 0.0)
        larger: np.ndarray = tested * gaps.max(1) - spent
        return larger

    def violations(self, delta: float) -> int:
        """Draws with any bound below its true value."""
        return int((np.array(self.true) > self.bounds(delta) + 1e-9).any(1).sum())

    def excess(self) -> list[str]:
        """The deltas that were exceeded by more than chance explains."""
        draws = len(self.true)
        found = {delta: self.violations(delta) for delta in DELTAS}
        return [
            f"delta {delta:g}: {count} of {draws}" for delta, count in found.items() if too_often(count, draws, delta)
        ]


def simulate(population: Population, n: int, draws: int, seed: int, chains: int = 8) -> Outcome:
    """Fit and compare `draws` samples of n points; those of one class, which the product refuses, are left out."""
    outcome, x = Outcome(), population.points.astype(np.float32)
    part = np.arange(n) < round(PRIOR_SHARE * n)  # the samples have no order, so the first are as good as any
    for draw in range(draws):
        rng = np.random.default_rng([seed, n, draw, *population.name.encode()])
        (points,), (y,) = population.sample(1, n, rng)
        if len(np.unique(y)) < 2:
            continue
        classifier = PersonalClassifier(SETTINGS, Stream(seed, population.name, n, draw)).fit(x[points], y)
        outcome.made.append(
            compare_with_data_prior(classifier, x[points], y, part, population.law.shape[1], chains=chains)
        )
        sign, soft = class_probabilities(classifier, x, one_gaussian=True)
        law = population.law[:, classifier.classes_]
        votes, answers = classifier.classes_[soft.argmax(1)], classifier.predict(x)
        randomised = [1 - float(population.weights @ (law * p).sum(1)) for p in (sign, soft)]
        outcome.true.append([*randomised, *(float(population.risk(each[None])[0]) for each in (votes, answers))])
        inputs = rng.choice(len(x), UNLABELLED, p=population.weights)
        outcome.apart.append((float((votes != answers)[inputs].mean()), UNLABELLED))
    return outcome


def main() -> int:
    """Run all populations, one thread; 1 where a certificate is wrong too often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000, help="samples of each population")
    parser.add_argument("--n", type=int, nargs="+", default=[40], help="sample sizes")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="populations whose names begin so")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    header = ["population", "n", "draws", *(f"violated, delta {delta:g}" for delta in DELTAS)]
    header += [*(f"{name}: true / bound" for name in NAMES), "KL", "largest exponent"]
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    excess = []
    for population in POPULATIONS:
        if args.only and not population.name.startswith(tuple(args.only)):
            continue
        for n in args.n:
            outcome = simulate(population, n, args.draws, args.seed)
            true, bounds = np.array(outcome.true).mean(0), outcome.bounds(DELTAS[0]).mean(0)
            cells = [population.name, str(n), str(len(outcome.true))]
            cells += [f"{outcome.violations(delta) / len(outcome.true):.4f}" for delta in DELTAS]
            cells += [f"{t:.3f} / {b:.3f}" for t, b in zip(true, bounds, strict=True)]
            cells += [f"{np.mean([made.kl for made in outcome.made]):.1f}", f"{outcome.exponents().max():.1f}"]
            print("| " + " | ".join(cells) + " |", flush=True)
            excess += [f"{population.name}, n = {n}: {text}" for text in outcome.excess()]
    return ended(excess)


if __name__ == "__main__":
    raise SystemExit(main())
