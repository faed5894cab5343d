"""How often the certificate with a prior of some of the samples is wrong, on ten populations that are hard for it.

Every draw is a sample of n, on which a tree of Gaussian processes is fitted and certified as by
`pfedgp_core.certificate.data_prior` at delta = .05 and .01; `data_prior_draws` does so for hundreds of samples at once.
A population is a finite set of points, so true risks are sums. A draw is violated where the true risk of the randomised
classifier, the true probability of wrong classes or the true error of the vote is above its bound: delta covers them
together. The error of the deployed classifier is compared with its bound from 40 unlabelled inputs. Few chains and
sweeps keep it cheap; any omega makes a valid certificate.

    python -m experiments.data_prior_violations --draws 10000 [--head right]

With --head the trees are about the log odds of a shared head that was there before the samples (`hard_populations`).

It ends with 1 where violations exceed delta by more than chance explains, and with the table as Markdown.
"""

import argparse
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from scipy.special import rel_entr

from experiments.certificate_violations import DELTAS, UNLABELLED
from experiments.data_prior_draws import certify_block
from experiments.hard_populations import HEADS, POPULATIONS, Population, head_logits, output_scale
from experiments.too_often import ended, too_often
from pfedgp_core.certificate.data_prior import (
    PRIOR_SHARE,
    ROUNDING,
    UNLABELLED_SHARE,
    DataPrior,
)
from pfedgp_core.certificate.pac_bayes import epsilon, kl_inverse
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.numerics.streams import Stream

SETTINGS = Settings(gp=GPSettings(predict_chains=4, predict_sweeps=3))
BLOCK = 250  # draws at a time
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


def simulate(population: Population, n: int, draws: int, seed: int, chains: int = 8, head: str = "none") -> Outcome:
    """Fit and compare `draws` samples of n points; those of one class, which the product refuses, are left out."""
    outcome, logits = Outcome(), head_logits(population.law, head)
    settings = replace(SETTINGS, gp=replace(SETTINGS.gp, output_scale=output_scale(head)))
    part = np.arange(n) < round(PRIOR_SHARE * n)  # the samples have no order, so the first are as good as any
    for block, first in enumerate(range(0, draws, BLOCK)):
        stream = Stream(seed, population.name, head, n, block)
        points, labels = population.sample(min(BLOCK, draws - first), n, stream.numpy)
        several = labels.min(1) < labels.max(1)
        if not several.any():
            continue
        found = certify_block(
            population, points[several], labels[several], part, settings, stream.child("fit"), chains, logits
        )
        seen = stream.numpy.multinomial(UNLABELLED, population.weights, len(found.made)) / UNLABELLED
        outcome.made += found.made
        outcome.true += found.true.tolist()
        outcome.apart += [(float(x), UNLABELLED) for x in ((found.votes != found.answers) * seen).sum(1)]
    return outcome


def main() -> int:
    """Run all populations, one thread; 1 where a certificate is wrong too often."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000, help="samples of each population")
    parser.add_argument("--n", type=int, nargs="+", default=[40], help="sample sizes")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="populations whose names begin so")
    parser.add_argument("--head", choices=HEADS, default="none", help="where the prior means come from")
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
            outcome = simulate(population, n, args.draws, args.seed, head=args.head)
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
