r"""The PAC-Bayes certificate whose prior is made of some of the samples, with a bound on the others.

The samples are split, without a look at them, in A and B. Given A everything that is made of A alone is a valid prior
for the n_B samples of B: here the posterior of A at every node, and mass on the tree of A. About a shared head, which
was there before all of them, both posteriors have its prior mean. The deployed posterior may
still depend on all samples. With probability 1 - delta over B,

.. math::
    kl(\hat R_B(Q) \| R(Q)) \le \frac1{n_B} \Big( KL[Q \| P_A] + \log\frac{\xi(n_B)}{\delta_l} \Big), \qquad
    \xi(n) = \sum_k \binom nk \Big(\frac kn\Big)^k \Big(1 - \frac kn\Big)^{n - k}

(Ambroladze, Parrado-Hernandez and Shawe-Taylor 2006, theorem 1 with a prior of their section 3; constant of Maurer
2004). Q and P_A are, at each node, the Gaussians with the moments of the chains (`gaussian_moments`). The deployed
classifier errs where the vote of Q errs, or where it answers otherwise, which unlabelled inputs show.
docs/certificate.md has the proof.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.certificate.classifier import CONDITIONS
from pfedgp_core.certificate.gaussian_moments import gaussian_kl, matched_gaussian, part_of
from pfedgp_core.certificate.groups import independence, means_of_groups
from pfedgp_core.certificate.levels import require_level
from pfedgp_core.certificate.node_posterior import exact_gp
from pfedgp_core.certificate.pac_bayes import pac_bayes_bound
from pfedgp_core.certificate.prior_price import log_class_sets, log_trees
from pfedgp_core.certificate.progressive import disagreement_bound, unlabelled_condition
from pfedgp_core.certificate.risk import class_probabilities, node_rows, path_probabilities, sides
from pfedgp_core.certificate.theorem import Risk
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.client_tree import ClientTree
from pfedgp_core.tree.splits import Tree

__all__ = [
    "PRIOR_SHARE",
    "DataPrior",
    "DataPriorBound",
    "bound_data_prior",
    "compare_with_data_prior",
    "conditions",
    "disagreement",
    "same_splits",
    "tree_price",
]

PRIOR_SHARE = 0.25  # of the samples; fewer leave a larger KL, more a smaller B, and a half is worse throughout
TREE_WEIGHT = 0.9  # prior mass on classes and tree of A; the rest on all others, as in `prior_price`
CHAINS = 100  # of the prior, whose moments are all that counts
UNLABELLED_SHARE = 0.2  # of delta, where there are unlabelled inputs
ROUNDING = 1e-6  # added to the KL: far above float64 rounding of its terms, far below what matters


class DataPrior(NamedTuple):
    """What a bound needs to know of Q and the prior of A, for any delta.

    Attributes
    ----------
    empirical : (float, float)
        Expected loss on B, sign and soft.
    kl, price : float
        Of the nodes' functions from the prior of A, and nats for classes and tree.
    tested, prior : int
        Samples, or groups, of B and of A.
    same_tree : bool
        Whether A has the classes and the tree of all samples.
    """

    empirical: tuple[float, float]
    kl: float
    price: float
    tested: int
    prior: int
    same_tree: bool


@dataclass(frozen=True)
class DataPriorBound:
    """Bounds on the risks of Q, and on the error of the deployed classifier.

    Attributes
    ----------
    sign, soft : Risk
        Of the randomised classifier, and the expected probability of wrong classes: mean on B and bound.
    made : DataPrior
    disagreement : Risk or None
        Of the deployed classifier with the vote of Q on unlabelled inputs.
    unlabelled : int
        How many of these, or of their groups.
    delta : float
    """

    sign: Risk
    soft: Risk
    made: DataPrior
    disagreement: Risk | None
    unlabelled: int
    delta: float

    @property
    def vote(self) -> float:
        """Bound on the error of the arg max of Q's soft probabilities."""
        return min(1.0, 2 * self.soft.bound)

    @property
    def deployed(self) -> float:
        """Bound on the error of the deployed classifier; 1 without unlabelled inputs."""
        return 1.0 if self.disagreement is None else min(1.0, self.vote + self.disagreement.bound)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, fit for JSON."""
        differs = {"empirical": None, "bound": 1.0} if self.disagreement is None else self.disagreement._asdict()
        return {
            "vote": {"empirical": None, "bound": self.vote},
            "disagreement": differs,
            "wrong_probability": self.soft._asdict(),
            "gibbs": self.sign._asdict(),
            "kl": self.made.kl,
            "price": self.made.price,
            "tested": self.made.tested,
            "prior": self.made.prior,
            "same_tree": self.made.same_tree,
            "unlabelled": self.unlabelled,
            "delta": self.delta,
        }


def compare_with_data_prior(
    classifier: PersonalClassifier,
    features: ArrayLike | Tensor,
    labels: np.ndarray,
    part: np.ndarray,
    federation_classes: int,
    *,
    groups: np.ndarray | None = None,
    chains: int = CHAINS,
) -> DataPrior:
    """Compare a fitted classifier with what some of its samples alone would give.

    Parameters
    ----------
    classifier : PersonalClassifier
        Fitted on all samples, by a variant whose nodes know the samples of their classes and nothing else.
    features, labels : arrays [n, d] and [n]
        As given to ``fit``, in the same order.
    part : bool array [n]
        Samples that make the prior, whole groups where there are some; chosen without a look at the samples.
    federation_classes : int
    groups : int array [n], optional
        The number of each sample's group, where groups and not samples are independent.
    chains : int
        Of the prior.

    Raises
    ------
    DataError
        One of the two parts is empty or tears a group apart, or labels are not those of the fitted samples.
    NonFiniteError
        The posterior is not finite.
    """
    units = np.arange(len(labels)) if groups is None else groups
    first, second = (np.unique(units[rows]) for rows in (part, ~part))
    if not len(first) or not len(second) or len(np.intersect1d(first, second)):
        raise DataError(
            f"{len(first)} and {len(second)} groups are no two parts of the samples: give some to each, and every "
            "group to one."
        )
    names = classifier.classes_
    positions = torch.from_numpy(np.searchsorted(names, labels).clip(max=len(names) - 1).astype(np.int64))
    if not np.array_equal(names[positions.numpy()], labels):
        raise DataError("The labels hold a class that the classifier does not have: give those it was fitted on.")
    source = Stream(classifier.stream.seed, *classifier.stream.path, "data prior")
    sweeps = classifier.settings.gp.predict_sweeps or classifier.settings.gp.sweeps
    chosen, kl, node_sides = torch.from_numpy(part), 0.0, []
    with torch.no_grad():
        for node, (known, omega) in zip(classifier.tree_.nodes, classifier.nodes_, strict=True):
            gp, rows = exact_gp(known.gp), node_rows(positions, node)
            if len(rows) != len(gp.kappa):
                raise DataError(f"Tree node {node.index} has {len(gp.kappa)} points for {len(rows)} samples.")
            q = matched_gaussian(gp, omega, torch.arange(len(rows)))
            given = torch.nonzero(chosen[rows])[:, 0]
            drawn = omega[:, :0]
            if len(given):
                drawn = part_of(gp, given).sample_omega(chains, sweeps, source.child(node.index))
            kl += gaussian_kl(q, matched_gaussian(gp, drawn, given))
            node_sides.append(sides(q.mean[None], q.covariance.diagonal().clamp_min(0.0)[None]))
        right = path_probabilities(classifier.tree_, positions, node_sides).numpy()[:, ~part]
    kl = max(0.0, kl) + ROUNDING
    price, same = _price(classifier, features, labels, part, federation_classes)
    sign, soft = (float(means_of_groups(1.0 - each, units[~part]).mean()) for each in right)
    return DataPrior((sign, soft), kl, price, len(second), len(first), same)


def bound_data_prior(made: DataPrior, delta: float = 0.01, apart: tuple[float, int] | None = None) -> DataPriorBound:
    """Evaluate the theorem; the caller answers for the conditions.

    Parameters
    ----------
    made : DataPrior
    delta : float
        Of all bounds together.
    apart : (float, int), optional
        From `disagreement`; without it there is no bound on the deployed classifier.

    Raises
    ------
    ConfigError
        delta outside (0, 1).
    """
    require_level("delta", delta)
    share = 0.0 if apart is None else UNLABELLED_SHARE * delta

    def risk(mean: float) -> Risk:
        empirical = min(1.0, max(0.0, mean) + ROUNDING)
        bound = float(pac_bayes_bound(empirical, made.kl + made.price, made.tested, (delta - share) / 2, "sum"))
        return Risk(empirical, min(1.0, bound))

    sign, soft = map(risk, made.empirical)
    differs = None if apart is None else Risk(apart[0], disagreement_bound(*apart, share))
    return DataPriorBound(sign, soft, made, differs, 0 if apart is None else apart[1], delta)


def disagreement(
    classifier: PersonalClassifier, features: ArrayLike | Tensor, groups: np.ndarray | None = None
) -> tuple[float, int]:
    """Mean share of unlabelled inputs [m, d] that a classifier answers otherwise than the vote of Q, and of how many.

    Parameters
    ----------
    classifier : PersonalClassifier
    features : array or Tensor [m, d]
        Raw features of the network.
    groups : int array [m], optional
        The number of each input's group; groups are then counted.
    """
    votes = classifier.classes_[class_probabilities(classifier, features, one_gaussian=True).soft.argmax(1)]
    differs = votes != classifier.predict(features)
    means = means_of_groups(differs, np.arange(len(differs)) if groups is None else groups)
    return float(means.mean()), len(means)


def conditions(grouped: bool, unlabelled: bool) -> list[str]:
    """What must hold for the bounds to mean anything."""
    found = [independence("The samples that the classifier was fitted on", grouped), *CONDITIONS]
    return [*found[:1], unlabelled_condition(grouped), *found[1:]] if unlabelled else found


def _price(
    classifier: PersonalClassifier,
    features: ArrayLike | Tensor,
    labels: np.ndarray,
    part: np.ndarray,
    federation_classes: int,
) -> tuple[float, bool]:
    """-log of the prior's mass on the classes and tree that were built, and whether they are those of A."""
    k, same = len(classifier.classes_), False
    own = labels[part]
    if set(np.unique(own)) == set(classifier.classes_):
        raw = features if isinstance(features, Tensor) else torch.as_tensor(np.asarray(features))
        ids = own if classifier.inducing is not None else np.searchsorted(classifier.classes_, own)
        known = ClientTree.build(
            raw[torch.from_numpy(part)],
            torch.from_numpy(np.asarray(ids, dtype=np.int64)),
            np.unique(ids).tolist(),
            classifier.inducing,
            classifier.stream,
        ).tree
        same = same_splits(known, classifier.tree_)
    return tree_price(same, k, federation_classes), same


def tree_price(same: bool, k: int, federation_classes: int) -> float:
    """-log of the prior's mass on classes and tree that were built: `same` where A alone gives them."""
    if same:
        return -math.log(TREE_WEIGHT)
    return -math.log(1 - TREE_WEIGHT) + log_trees(k) + log_class_sets(k, federation_classes)


def same_splits(a: Tree, b: Tree) -> bool:
    """Whether two trees are the same but for the order of children."""
    first, second = ({frozenset((node.left, node.right)) for node in tree.nodes} for tree in (a, b))
    return first == second
