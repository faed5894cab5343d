r"""The training samples behind an answer: what each adds to it, and what the answer would be without them.

Given omega, a node regresses on pseudo-targets z with noise 1 / omega, of the sign of the labels
(:math:`z = \kappa / \omega`), and its posterior mean is a smoother of them: with :math:`Q = (K + \Omega^{-1})^{-1}` and
:math:`k` the covariances with all its samples,

.. math::
    \mu = k' \alpha = \sum_i (Qk)_i z_i, \qquad z = Q^{-1} \alpha = K \alpha + \Omega^{-1} \alpha

(about a shared head: :math:`z - m`). The weight of a sample is its term :math:`(Qk)_i z_i`, towards the answer's side,
summed over the nodes on the path to the answer, with the chains' mean of omega and alpha: a part of the latent value,
in log-odds before the variance is taken into account. Terms :math:`\alpha_i k_i` have the same sum, but near samples
that pull to different sides have large ones, which take each other away. Without samples S at fixed omega

.. math::
    \mu' = \mu - (Qk)_S' \, Q_{SS}^{-1} \alpha_S, \qquad v' = v + (Qk)_S' \, Q_{SS}^{-1} (Qk)_S

which says how probable the same answer is without the named samples. A site that is made without them draws omega and
builds its tree anew: its probability falls too, by about as much.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.errors import ConfigError
from pfedgp_core.gp import dense
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.metrics.temperature import temperature_scale
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.tree.splits import class_log_probabilities
from pfedgp_core.tree.variants.base import NodeGP
from pfedgp_core.tree.variants.prior_mean import node_log_odds

__all__ = ["Explainer", "Explanations"]


@dataclass(frozen=True)
class Explanations:
    """Of T answers.

    Attributes
    ----------
    rows : numpy.ndarray, int64 [T, n]
        Training samples, the one that speaks most for the answer first.
    ids : tuple of T tuples of n str
        Of these samples; empty texts where the site does not know them.
    weights : numpy.ndarray, float64 [T, n]
        What each adds to the answer's latent values, see above; negative where it speaks against the answer.
    without : numpy.ndarray, float64 [T]
        Probability of the same answer without these n samples.
    head : numpy.ndarray, float64 [T], or None
        What the federation's shared head adds to the answer's latent values, where the model has one.
    """

    rows: np.ndarray
    ids: tuple[tuple[str, ...], ...]
    weights: np.ndarray
    without: np.ndarray
    head: np.ndarray | None = None


class Explainer:
    """Explains the answers of one site.

    Parameters
    ----------
    site : SavedSite
    count : int
        Samples an answer, from 1.
    temperature : float, optional
        Of the probabilities; default: that of the model.
    prior : numpy.ndarray [k], optional
        Factors of the probabilities, see `pfedgp_core.site.prior`.

    Raises
    ------
    ConfigError
        The variant's nodes do not keep their samples apart, or there are fewer samples than asked for.
    """

    def __init__(
        self, site: SavedSite, count: int, temperature: float | None = None, prior: np.ndarray | None = None
    ) -> None:
        if not 1 <= count <= len(site.samples):
            raise ConfigError(
                f"--explain {count} is no number of the site's {len(site.samples)} samples: give one from 1 on."
            )
        self.site, self.count, self.prior = site, count, prior
        self.temperature = site.model.temperature if temperature is None else temperature
        nodes = site.classifier.nodes_
        self._nodes = [(known, CachedNode(known.gp, omega)) for known, omega in nodes]
        if not site.classifier.leaves_one_out or any(cache.primal for _, cache in self._nodes):
            raise ConfigError(
                "The variant of this site sums its samples up in inducing inputs, so no answer can be traced to single "
                "ones: --explain needs a variant that keeps them, such as full."
            )

    def explain(self, features: Tensor, predicted: np.ndarray) -> Explanations:
        """The samples behind some answers.

        Parameters
        ----------
        features : Tensor [T, d]
            Under the site's model.
        predicted : int [T]
            The answers, as columns of the site's classes.
        """
        with torch.no_grad():
            new = unit_sphere(features)
            towards = torch.zeros(len(self.site.samples), len(new), dtype=torch.float64)
            for node, (known, cache) in zip(self.site.classifier.tree_.nodes, self._nodes, strict=True):
                side = np.isin(predicted, node.left).astype(int) - np.isin(predicted, node.right)
                if known.own is not None and len(known.own.places):
                    terms = _terms(known, cache, new)
                    towards.index_add_(0, known.own.rows, terms[known.own.places] * torch.from_numpy(side))
            order = towards.argsort(dim=0, descending=True, stable=True)[: self.count]
            rows, weights = order.T, towards.gather(0, order).T
            logits = self.site.classifier.head_logits(features)
            logs = self._log_probabilities_without(new, rows, logits)
            head = None if logits is None else self._of_head(logits, predicted)
        probabilities = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        probabilities = temperature_scale(probabilities, self.temperature)
        if self.prior is not None:
            probabilities = probabilities * self.prior
            probabilities /= probabilities.sum(axis=1, keepdims=True)
        origins = self.site.samples.origins
        ids = tuple(tuple(origins[i].id for i in row) for row in rows.tolist())
        without = probabilities[np.arange(len(rows)), predicted]
        return Explanations(rows.numpy(), ids, weights.numpy(), without, head)

    def _of_head(self, logits: Tensor, predicted: np.ndarray) -> np.ndarray:
        """The prior means [T] on the paths to the answers."""
        total = np.zeros(len(predicted))
        for node in self.site.classifier.tree_.nodes:
            side = np.isin(predicted, node.left).astype(int) - np.isin(predicted, node.right)
            total += side * node_log_odds(logits, node).double().numpy()
        return total

    def _log_probabilities_without(self, new: Tensor, rows: Tensor, logits: Tensor | None) -> np.ndarray:
        """log P(class) of each point [T, d] without its own rows [T, n], float64 [T, k]; logits [T, k] of the head."""
        gp, sides = self.site.model.settings.gp, []
        tree = self.site.classifier.tree_
        for node, (known, cache) in zip(tree.nodes, self._nodes, strict=True):
            mu, v = _moments_without(known, cache, new, rows)
            if logits is not None:
                mu = mu + node_log_odds(logits, node)
            left, right = node_log_probabilities(mu, v, gp.link, gp.quadrature)
            if known.log_ratio is not None:
                left, right = apply_class_ratio(left, right, *known.log_ratio)
            sides.append((left.double(), right.double()))
        return class_log_probabilities(tree, sides, len(new)).double().numpy()


def _terms(known: NodeGP, cache: CachedNode, new: Tensor) -> Tensor:
    """What each of a node's points adds to its mean at points [T, d], float64 [n, T]; they sum to the mean - m."""
    gram, alpha = known.gp.gram.detach(), cache.weights.mean(0).double()
    half, d = _half(gram, cache.omega.mean(0, keepdim=True))
    targets = gram.double() @ alpha + alpha / d.square()
    smoother: Tensor = half.T @ (half @ known.gp.cross(new)[0].double())
    return smoother * targets[:, None]


def _half(gram: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
    """H [n, n] with H'H = (K + Omega^-1)^-1 for omega [1, n], and the roots of omega [n]; both float64."""
    d, L = dense.factorise(gram, omega)
    return torch.linalg.solve_triangular(L[0], torch.diag(d[0]), upper=False).double(), d[0].double()


def _moments_without(known: NodeGP, cache: CachedNode, new: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of f* - m* [C, T] of each point without those of its rows that the node knows."""
    mu, v = (moment.clone() for moment in cache.moments(new))
    if known.own is None or not len(known.own.places):
        return mu, v
    place = torch.full((int(rows.max()) + 1 + int(known.own.rows.max()),), -1)
    place[known.own.rows] = known.own.places
    cross, _ = known.gp.cross(new)
    omega = cache.omega.mean(0, keepdim=True) if known.gp.iterative else cache.omega
    gram = known.gp.gram.detach()
    for chain in range(len(omega)):
        which = slice(None) if known.gp.iterative else slice(chain, chain + 1)
        half, _ = _half(gram, omega[chain : chain + 1])
        seen = half @ cross.double()
        for t in range(len(new)):
            there = place[rows[t]]
            there = there[there >= 0]
            if len(there):
                part = half[:, there]
                pulled = part.T @ seen[:, t]
                solved = torch.linalg.solve(part.T @ part, pulled)
                mu[which, t] -= (cache.weights[which][:, there].double() @ solved).to(mu.dtype)
                v[which, t] += (pulled @ solved).to(v.dtype)
    return mu, v
