"""The class tree: binary splits of the classes by 2-means on their prototypes (paper, section A.2).

A tree is a flat tuple of internal nodes. A class's probability is the product of the node probabilities on its path,
accumulated in log space. The tree is rebuilt in every round from the current features and fixed within the round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.errors import NonFiniteError

__all__ = ["Node", "Tree", "build_tree", "class_log_probabilities", "class_means", "two_means"]

EXHAUSTIVE_CLASSES = 11  # up to here all 2^(k-1) - 1 splits are compared: exact, deterministic, and faster than Lloyd
RESTARTS = 10


@dataclass(frozen=True)
class Node:
    """An internal node: `left` and `right` are the classes below its two children, in ascending order."""

    index: int
    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """`classes` in ascending order (the columns of every probability matrix) and `nodes` in pre-order."""

    classes: tuple[int, ...]
    nodes: tuple[Node, ...]


def class_means(features: Tensor, labels: Tensor, classes: Sequence[int]) -> np.ndarray:
    """Prototypes: the mean feature vector of every class, float64 [k, d]."""
    position = torch.full((int(max(classes)) + 1,), -1, dtype=torch.int64)
    position[torch.tensor(classes)] = torch.arange(len(classes))
    sums = torch.zeros(len(classes), features.shape[1], dtype=torch.float64, device=features.device)
    rows = position[labels.cpu()]
    sums.index_add_(0, rows.to(features.device, non_blocking=True), features.double())
    means: np.ndarray = (sums.cpu() / torch.bincount(rows, minlength=len(classes))[:, None]).numpy()
    return means


def build_tree(prototypes: np.ndarray, classes: Sequence[int], rng: np.random.Generator) -> Tree:
    """Split the classes recursively in two.

    The child that holds the lowest class is the left one; two classes are split by their order; one class is a leaf, so
    a single class gives a tree without nodes.

    Parameters
    ----------
    prototypes : ndarray [k, d]
        Mean feature vector of each class.
    classes : sequence of int, length k
        Class ids of the rows, ascending.
    rng : numpy Generator
        Seeds k-means++ where there are too many classes to compare every split.

    Raises
    ------
    NonFiniteError
        A prototype is NaN or infinite.
    """
    prototypes = np.asarray(prototypes, dtype=np.float64)
    if not np.isfinite(prototypes).all():
        raise NonFiniteError("A class prototype is not finite: check the inputs and the weights of the kernel network.")
    ids = np.asarray(classes)
    nodes: list[Node] = []

    def split(members: np.ndarray) -> None:
        if len(members) < 2:
            return
        left = two_means(prototypes[members], rng)
        index = len(nodes)
        nodes.append(Node(index, tuple(ids[members[left]].tolist()), tuple(ids[members[~left]].tolist())))
        split(members[left])
        split(members[~left])

    split(np.arange(len(ids)))
    return Tree(tuple(ids.tolist()), tuple(nodes))


def two_means(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Best split of k >= 2 points in two non-empty clusters (least sum of squares): boolean [k], True for point 0.

    Exact for at most 11 points; beyond, Lloyd's algorithm from k-means++ starts. Coinciding points are halved in order.
    """
    k = len(points)
    points = points - points.mean(0)
    if k > EXHAUSTIVE_CLASSES:
        return _lloyd(points, rng)
    masks = _splits(k)
    sums, sizes = masks @ points, masks.sum(1)
    # Within-cluster sum of squares = total - sum over clusters |sum|^2 / size; the two sums are opposite here.
    gain = (sums**2).sum(1) * (1 / sizes + 1 / (k - sizes))
    if gain.max() <= 1e-12 * max(1.0, (points**2).sum()):
        return np.arange(k) < (k + 1) // 2
    best: np.ndarray = masks[int(gain.argmax())] > 0
    return best


@cache
def _splits(k: int) -> np.ndarray:
    """Every split of k points in two, as float masks [2^(k-1) - 1, k] whose first column is 1."""
    codes = np.arange(2 ** (k - 1) - 1)[:, None]
    rest = (codes >> np.arange(k - 1)) & 1
    return np.concatenate([np.ones((len(codes), 1)), rest], axis=1)


def _lloyd(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    best, best_cost = np.arange(len(points)) < (len(points) + 1) // 2, np.inf
    for _ in range(RESTARTS):
        first = points[rng.integers(len(points))]
        distance = ((points - first) ** 2).sum(1)
        if distance.sum() <= 1e-12:
            continue
        centres = np.stack([first, points[rng.choice(len(points), p=distance / distance.sum())]])
        side = np.zeros(len(points), dtype=bool)
        for _ in range(100):
            distances = ((points[:, None] - centres) ** 2).sum(2)
            new = distances[:, 0] <= distances[:, 1]
            if (new == side).all() or new.all() or not new.any():
                break
            side = new
            centres = np.stack([points[side].mean(0), points[~side].mean(0)])
        if side.any() and not side.all():
            cost = ((points - np.where(side[:, None], centres[0], centres[1])) ** 2).sum()
            if cost < best_cost:
                best, best_cost = side, cost
    return best if best[0] else ~best


def class_log_probabilities(tree: Tree, node_log_probabilities: Sequence[tuple[Tensor, Tensor]], count: int) -> Tensor:
    """log P(class) of every test point: sum of the log node probabilities along each class's path.

    Parameters
    ----------
    tree : Tree
    node_log_probabilities : sequence of (log P(left) [T], log P(right) [T]), one a node, in the tree's order
    count : int
        Number of test points T (needed for a tree without nodes).

    Returns
    -------
    Tensor [T, k]
        Columns in the order of ``tree.classes``.
    """
    column = {c: i for i, c in enumerate(tree.classes)}
    like = node_log_probabilities[0][0] if node_log_probabilities else torch.zeros(count)
    total = like.new_zeros(count, len(tree.classes))
    for node, (left, right) in zip(tree.nodes, node_log_probabilities, strict=True):
        total[:, [column[c] for c in node.left]] += left[:, None]
        total[:, [column[c] for c in node.right]] += right[:, None]
    return total
