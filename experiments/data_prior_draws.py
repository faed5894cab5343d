"""Very many samples of a population, each certified by a prior of some of its points, all of a block at once.

What a certificate is made of, and the truth, as `pfedgp_core.certificate.data_prior` and `risk.class_probabilities`
give them one by one: a test compares them. The trees are the product's; their nodes are those of `padded_nodes`, in
groups of like size.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments import padded_nodes
from experiments.hard_populations import Population
from experiments.padded_nodes import PaddedNodes
from pfedgp_core.certificate.data_prior import ROUNDING, DataPrior, same_splits, tree_price
from pfedgp_core.certificate.risk import sides
from pfedgp_core.config import Settings
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.client_tree import ClientTree
from pfedgp_core.tree.splits import Tree

__all__ = ["Certified", "certify_block"]

SIZES = (4, 8, 12, 16, 24, 32, 48, 64, 96)  # to which nodes are padded


class Certified(NamedTuple):
    """Of the draws that have two classes: what a certificate is made of, and the truth.

    Attributes
    ----------
    made : list of DataPrior
    votes, answers : int array [draws, P]
        Class of the vote of Q, and of the deployed classifier, at every point of the population.
    true : array [draws, 4]
        Risks: Gibbs, wrong probability, vote, deployed.
    """

    made: list[DataPrior]
    votes: np.ndarray
    answers: np.ndarray
    true: np.ndarray


class _Trees(NamedTuple):
    """Of D draws: classes and tree of each, labels as positions in the classes, whether part A has the same tree."""

    classes: list[list[int]]
    trees: list[Tree]
    codes: list[np.ndarray]
    same: list[bool]


class _Group(NamedTuple):
    """Nodes of like size: the draw of each [B], its points and its samples [B, n], the classes on its sides [B, K]."""

    draw: Tensor
    kappa: Tensor
    sample: Tensor
    left: Tensor
    right: Tensor


def certify_block(
    population: Population,
    points: np.ndarray,
    labels: np.ndarray,
    part: np.ndarray,
    settings: Settings,
    stream: Stream,
    prior_chains: int,
    logits: np.ndarray | None = None,
) -> Certified:
    """Fit and compare some samples of a population.

    Parameters
    ----------
    population : Population
    points, labels : int arrays [D, n]
        Every draw of two classes or more.
    part : bool array [n]
        Samples that make the prior.
    settings : Settings
    stream : Stream
    prior_chains : int
    logits : array [P, K], optional
        Of a shared head at the population's points, whose log odds are the prior means.
    """
    draws, classes = len(points), population.law.shape[1]
    found = _trees(torch.from_numpy(population.points), points, labels, part, stream)
    gp, inputs = settings.gp, unit_sphere(torch.from_numpy(population.points))
    gram = make_kernel(gp.kernel, gp.output_scale, gp.length_scale).gram(inputs, 0.0)
    kl, own = torch.zeros(draws, dtype=torch.float64), torch.zeros(2, *points.shape, dtype=torch.float64)
    # Log probabilities of every class at every point: sign, soft, and the deployed classifier's.
    every = torch.zeros(3, draws, len(inputs), classes, dtype=torch.float64)
    sweeps = gp.predict_sweeps or gp.sweeps
    for i, group in enumerate(_groups(found, classes)):
        place = torch.from_numpy(points)[group.draw[:, None], group.sample]
        odds = _log_odds(logits, group, len(inputs))
        nodes = _nodes(gram, place, group, odds, gp.jitter)
        there = group.kappa != 0
        given = there & torch.from_numpy(part)[group.sample]
        omega = padded_nodes.sample_omega(nodes, there, gp.predict_chains, sweeps, stream.child("omega", i))
        prior = padded_nodes.sample_omega(nodes, given, prior_chains, sweeps, stream.child("prior", i))
        q = padded_nodes.moments(nodes, omega, there)
        kl.index_add_(0, group.draw, padded_nodes.kl(q, padded_nodes.moments(nodes, prior, given)))
        variance = q.covariance.diagonal(dim1=1, dim2=2).clamp_min(0.0)
        left, right = (side.view(2, *q.mean.shape) for side in sides(q.mean.reshape(1, -1), variance.reshape(1, -1)))
        logs = torch.where(group.kappa > 0, left, right).log()[:, there]
        own.index_put_((torch.arange(2)[:, None], group.draw[:, None].expand_as(there)[there], group.sample[there]),
                       logs, accumulate=True)  # fmt: skip
        cross = gram[place] * there[..., None]
        moments = padded_nodes.predict(nodes, omega, cross, gp.output_scale + gp.jitter)
        for side, log in zip((group.left, group.right), _both_sides(*moments, odds), strict=True):
            every.index_add_(1, group.draw, torch.where(side[:, None], log[..., None], 0.0))
    return _certified(population, found, kl, own.exp(), every, part)


def _trees(features: Tensor, points: np.ndarray, labels: np.ndarray, part: np.ndarray, stream: Stream) -> _Trees:
    made = _Trees([], [], [], [])
    for rows, own in zip(points, labels, strict=True):
        built = []
        for chosen in (slice(None), part):
            ids = np.unique(own[chosen]).tolist()
            known = torch.from_numpy(own[chosen].astype(np.int64))
            built.append(ClientTree.build(features[rows[chosen]], known, ids, None, stream))
        every, some = built
        made.classes.append(every.classes)
        made.trees.append(every.tree)
        made.codes.append(every.labels.numpy())
        made.same.append(every.classes == some.classes and same_splits(every.tree, some.tree))
    return made


def _groups(found: _Trees, classes: int) -> Iterator[_Group]:
    """The nodes of all trees, those of like size together."""
    parts: dict[int, list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]] = defaultdict(list)
    for draw, (ids, tree, codes) in enumerate(zip(found.classes, found.trees, found.codes, strict=True)):
        names = np.array(ids)
        for node in tree.nodes:
            side = np.zeros(classes)
            side[names[list(node.left)]], side[names[list(node.right)]] = 0.5, -0.5
            kappa = side[names[codes]]
            rows = np.flatnonzero(kappa)
            parts[next(size for size in (*SIZES, len(codes)) if size >= len(rows))].append((draw, rows, kappa, side))
    for size, members in sorted(parts.items()):
        kappa, sample = np.zeros((len(members), size)), np.zeros((len(members), size), np.int64)
        for i, (_, rows, every, _) in enumerate(members):
            kappa[i, : len(rows)], sample[i, : len(rows)] = every[rows], rows
        side = torch.from_numpy(np.stack([each for *_, each in members]))
        draw = torch.tensor([first for first, *_ in members])
        yield _Group(draw, torch.from_numpy(kappa), torch.from_numpy(sample), side > 0, side < 0)


def _log_odds(logits: np.ndarray | None, group: _Group, points: int) -> Tensor:
    """The prior means of the nodes at every point of the population, [B, P]."""
    if logits is None:
        return torch.zeros(len(group.draw), points, dtype=torch.float64)
    every = torch.from_numpy(logits)
    left, right = (torch.where(side[:, None], every, -torch.inf).logsumexp(-1) for side in (group.left, group.right))
    return left - right


def _nodes(gram: Tensor, place: Tensor, group: _Group, odds: Tensor, jitter: float) -> PaddedNodes:
    there = (group.kappa != 0).double()
    own = gram[place[:, :, None], place[:, None, :]] * there[:, :, None] * there[:, None, :]
    own.diagonal(dim1=1, dim2=2).add_(torch.where(there > 0, jitter, 1.0))
    return PaddedNodes(own, group.kappa, odds.gather(1, place) * there)


def _both_sides(mean: Tensor, variance: Tensor, odds: Tensor) -> Iterator[Tensor]:
    """log P(left), then log P(right) [3, B, P] under Q, sign and soft, and of the deployed classifier."""
    shape = odds.shape
    mu, v = padded_nodes.matched(mean + odds[:, None], variance)
    of_q = sides(mu.reshape(1, -1), v.reshape(1, -1))
    by_chain = ((mean + odds[:, None]).transpose(0, 1), variance.transpose(0, 1))
    deployed = node_log_probabilities(*(each.flatten(1) for each in by_chain))
    for side, log in zip(of_q, deployed, strict=True):
        yield torch.cat([side.log(), log[None]]).view(3, *shape)


def _certified(
    population: Population, found: _Trees, kl: Tensor, own: Tensor, every: Tensor, part: np.ndarray
) -> Certified:
    draws, n, k = len(found.trees), len(part), population.law.shape[1]
    present = np.zeros((draws, k), bool)
    for draw, classes in enumerate(found.classes):
        present[draw, classes] = True
    probabilities = np.where(present[:, None], every.exp().numpy(), 0.0)  # [3, draws, P, k]
    votes, answers = probabilities[1].argmax(-1), probabilities[2].argmax(-1)
    randomised = [1 - np.einsum("p,pk,dpk->d", population.weights, population.law, p) for p in probabilities[:2]]
    wrong = (1.0 - own[:, :, torch.from_numpy(~part)].mean(-1)).numpy()
    tested = int((~part).sum())
    made = [
        DataPrior(
            (float(wrong[0, d]), float(wrong[1, d])),
            max(0.0, float(kl[d])) + ROUNDING,
            tree_price(found.same[d], len(found.classes[d]), k),
            tested,
            n - tested,
            found.same[d],
        )
        for d in range(draws)
    ]
    true = np.stack([*randomised, population.risk(votes), population.risk(answers)], 1)
    return Certified(made, votes, answers, true)
