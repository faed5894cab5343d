r"""The PAC-Bayes theorem of a whole tree of GPs: an upper bound on its true error from the samples it was fitted on.

Theorem as computed. Fix a prior P that does not depend on the client's n independent samples: a class set, a binary
tree on it (`prior_price`) and an independent GP at every node, with the kernel and network fixed before. Let Q be the
tree that was built and, at every node, the mixture of Gaussians of its C chains (`node_posterior`), and l a loss of one
draw with values in [0, 1] (`risk`). With probability at least 1 - delta over samples and draws, for both losses

.. math::
    kl(\hat R(Q) \| R(Q)) \le \frac1n
        \Big( \sum_v KL_v + \log \frac{1}{P(tree)} + \log \frac{2 \sqrt n}{\delta_l} \Big), \qquad
    \sum_v KL_v \le \sum_v \operatorname{mean}_c KL_{vc} - \underline{I}

(Seeger 2002; constant of Maurer 2004 for n >= 8, n + 1 in place of 2 sqrt(n) below), where I is the lower bound of
`mixture_information`. Where the arg max of Q's class probabilities errs, the true class has at most 1/2, so its error
is at most 2 R(Q), for any number of classes. docs/certificate.md proves each step and lists the conditions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.certificate.groups import means_of_groups
from pfedgp_core.certificate.levels import require_level
from pfedgp_core.certificate.mixture_information import information_lower_bound
from pfedgp_core.certificate.node_posterior import exact_gp, node_posterior
from pfedgp_core.certificate.pac_bayes import pac_bayes_bound
from pfedgp_core.certificate.paper_bound import PaperBound, paper_bound
from pfedgp_core.certificate.prior_price import log_class_sets, log_trees
from pfedgp_core.certificate.risk import node_rows, path_probabilities, sides
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Tree

__all__ = ["Risk", "TreeCertificate", "TreePosterior", "bound_tree", "certify_tree", "tree_posterior"]

DRAWS = 2000
INFORMATION_SHARE = 0.05  # of delta; the two losses have half of the rest each
MAURER_FROM = 8
ROUNDING = 1e-9  # added to KL and risk: far above float64 rounding, far below what matters


class Risk(NamedTuple):
    """A risk on the fitted samples and the upper bound on its true value."""

    empirical: float
    bound: float


@dataclass(frozen=True)
class TreeCertificate:
    """Bounds on the risks of a tree's Q.

    Attributes
    ----------
    sign : Risk
        Error of the randomised classifier that draws f and goes left where f > 0 (the Gibbs classifier).
    soft : Risk
        Expected probability that the model gives to wrong classes.
    kl, kl_convex : float
        Of all nodes' functions: the value used, and the mean over chains without the information term.
    information : float
        Its lower bound, kl_convex - kl.
    price_tree, price_classes : float
        Nats paid because tree and class set were read off the samples.
    n : int
    delta : float
    paper : PaperBound
        The estimators as the paper prints them; not bounds.
    """

    sign: Risk
    soft: Risk
    kl: float
    kl_convex: float
    information: float
    price_tree: float
    price_classes: float
    n: int
    delta: float
    paper: PaperBound

    @property
    def sign_vote(self) -> float:
        """Bound on the error of the arg max of the sign probabilities."""
        return min(1.0, 2 * self.sign.bound)

    @property
    def soft_vote(self) -> float:
        """Bound on the error of the arg max of the soft probabilities, the deployed classifier under link "arith"."""
        return min(1.0, 2 * self.soft.bound)


class TreePosterior(NamedTuple):
    """What a certificate needs to know of Q, for any delta.

    Attributes
    ----------
    empirical : (float, float)
        Expected loss on the fitted samples, sign and soft.
    kl_convex : float
        Sum over nodes of mean_c KL_c.
    excess : Tensor [draws]
        Independent draws of Z of `mixture_information`, summed over nodes.
    ceiling : float
        Largest value of Z.
    pairs : list of (f [C, n_v], omega [C, n_v])
        One draw a chain at every node, for the paper's estimators.
    n, k : int
        Samples, or their groups where these count, and classes.
    """

    empirical: tuple[float, float]
    kl_convex: float
    excess: Tensor
    ceiling: float
    pairs: list[tuple[Tensor, Tensor]]
    n: int
    k: int


def certify_tree(
    tree: Tree,
    nodes: Sequence[tuple[FullGP | FITC, Tensor]],
    labels: Tensor,
    federation_classes: int | None,
    delta: float = 0.01,
    stream: Stream | None = None,
    *,
    tree_fixed: bool = False,
    draws: int = DRAWS,
    groups: np.ndarray | None = None,
) -> TreeCertificate:
    """Bound the true risks of a fitted tree; the caller answers for the conditions.

    Parameters
    ----------
    tree, nodes, labels, stream, draws, groups
        See ``tree_posterior``.
    federation_classes, delta, tree_fixed
        See ``bound_tree``.

    Raises
    ------
    ConfigError, DataError, NonFiniteError
        See there.
    """
    posterior = tree_posterior(tree, nodes, labels, stream, draws, groups)
    return bound_tree(posterior, federation_classes, delta, tree_fixed)


def tree_posterior(
    tree: Tree,
    nodes: Sequence[tuple[FullGP | FITC, Tensor]],
    labels: Tensor,
    stream: Stream | None = None,
    draws: int = DRAWS,
    groups: np.ndarray | None = None,
) -> TreePosterior:
    """Risks and KL of a tree's Q.

    Parameters
    ----------
    tree : Tree
        Over positions 0..k-1, k >= 2.
    nodes : sequence of (GP, omega [C, n_v])
        In the order of ``tree.nodes``; each GP holds the samples of its classes in the order of ``node_rows``.
    labels : Tensor [n]
        Positions of all samples the tree was fitted on.
    stream : Stream, optional
        For the information draws, ``Stream(0, "certificate")`` if left out. Choosing it by its result is not allowed.
    draws : int
        Information draws; 0 uses the convexity bound alone and spends no delta on it.
    groups : array [n], optional
        The number of each sample's group, where groups and not samples are the independent draws.

    Raises
    ------
    DataError
        Labels that do not fit the nodes.
    NonFiniteError
        A moment or KL is not finite.
    """
    labels = labels.detach().cpu()
    stream = stream or Stream(0, "certificate")
    _check_samples(tree, nodes, labels)
    kl_convex, ceiling, excess = 0.0, 0.0, torch.zeros(draws, dtype=torch.float64)
    node_sides, pairs = [], []
    with torch.no_grad():
        for node, (gp, omega) in zip(tree.nodes, nodes, strict=True):
            posterior = node_posterior(exact_gp(gp), omega, draws, stream.child(node.index))
            kl_convex += float(posterior.kl.mean())
            ceiling += math.log(len(omega))
            excess += posterior.excess
            node_sides.append(sides(posterior.mean, posterior.variance))
            pairs.append((posterior.pairs, omega))
        right = path_probabilities(tree, labels, node_sides)
    if groups is not None:  # the theorem speaks of independent draws: the mean loss of a group is that of one
        right = torch.stack([torch.from_numpy(means_of_groups(each, groups)) for each in right])
    sign, soft = (1.0 - right.mean(1)).tolist()
    # Python's max(0.0, nan) further down would be 0.0, the one wrong answer to give.
    if not all(map(math.isfinite, (kl_convex, sign, soft))):
        raise NonFiniteError("The posterior is not finite: check that features, kernel and chains are.")
    return TreePosterior((sign, soft), kl_convex, excess, ceiling, pairs, right.shape[1], len(tree.classes))


def bound_tree(
    posterior: TreePosterior, federation_classes: int | None, delta: float = 0.01, tree_fixed: bool = False
) -> TreeCertificate:
    """Evaluate the theorem.

    Parameters
    ----------
    posterior : TreePosterior
    federation_classes : int or None
        K, to pay for the choice of the class set among the federation's classes. None: the class set was fixed before
        the samples were seen.
    delta : float
        Shared by the two losses and the information draws.
    tree_fixed : bool, default False
        The tree was fixed before the samples were seen, so nothing is paid for it.

    Raises
    ------
    ConfigError
        delta outside (0, 1), a tree without nodes, or more classes than the federation has.
    """
    require_level("delta", delta)
    n, k = posterior.n, posterior.k
    trees = log_trees(k)
    price_tree = 0.0 if tree_fixed else trees
    price_classes = 0.0 if federation_classes is None else log_class_sets(k, federation_classes)
    share, information = 0.0, 0.0
    if len(posterior.excess):
        share = INFORMATION_SHARE * delta
        information = information_lower_bound(posterior.excess, posterior.ceiling, share)
    # A negative KL can only be rounding.
    kl = max(0.0, posterior.kl_convex - information) * (1 + ROUNDING) + ROUNDING
    form = "maurer" if n >= MAURER_FROM else "seeger"
    risks = []
    for loss in posterior.empirical:
        empirical = min(1.0, max(0.0, loss) + ROUNDING)
        bound = float(pac_bayes_bound(empirical, kl + price_tree + price_classes, n, (delta - share) / 2, form))
        risks.append(Risk(empirical, min(1.0, bound)))
    sign, soft = risks
    paper = paper_bound(sign.empirical, posterior.kl_convex, posterior.pairs, n, delta)
    return TreeCertificate(sign, soft, kl, posterior.kl_convex, information, price_tree, price_classes, n, delta, paper)


def _check_samples(tree: Tree, nodes: Sequence[tuple[FullGP | FITC, Tensor]], labels: Tensor) -> None:
    """Every node must hold exactly the samples of its classes, or the theorem would speak about another sample."""
    features: Tensor | None = None
    for node, (gp, _) in zip(tree.nodes, nodes, strict=True):
        rows = node_rows(labels, node)
        if features is None:  # the root, which holds every sample
            if len(rows) != len(labels) or len(rows) != len(gp.inputs):
                raise DataError(
                    f"The tree holds {len(gp.inputs)} samples, and {len(rows)} of the {len(labels)} labels are of its "
                    "classes: give the labels that the classifier was fitted on."
                )
            features = torch.empty_like(gp.inputs)
            features[rows] = gp.inputs
        left = torch.isin(labels[rows], torch.tensor(node.left))
        if len(rows) != len(gp.inputs) or not (
            torch.equal(left, gp.kappa.cpu() > 0) and torch.equal(features[rows], gp.inputs)
        ):
            raise DataError(
                f"The labels do not fit the samples of tree node {node.index}: give those that the classifier was "
                "fitted on, in their order."
            )
