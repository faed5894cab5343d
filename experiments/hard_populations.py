"""Ten populations that are hard to certify on: rare classes, wrong labels, copies, ties, many classes, rare inputs."""

from dataclasses import dataclass

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.presets import preset_settings

__all__ = ["HEADS", "POPULATIONS", "Population", "head_logits", "output_scale"]

HEADS = ("none", "right", "wrong", "random")  # what the prior means of a tree come from


@dataclass(frozen=True, eq=False)
class Population:
    """Finitely many points, so that the true error of any classifier is a sum.

    Attributes
    ----------
    name : str
    points : array [P, d]
    weights : array [P]
        Probability of each point.
    law : array [P, k]
        Probability of each label at a point.
    """

    name: str
    points: np.ndarray
    weights: np.ndarray
    law: np.ndarray

    def sample(self, draws: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Independent points and labels, int [draws, n] each."""
        points = rng.choice(len(self.weights), (draws, n), p=self.weights)
        cumulative = self.law.cumsum(1)[points][..., :-1]
        return points, (rng.random((draws, n))[..., None] > cumulative).sum(-1)

    def risk(self, answers: np.ndarray) -> np.ndarray:
        """True error of answers [draws, P], where -1 is always wrong."""
        right = np.where(answers >= 0, np.take_along_axis(self.law, answers.clip(0).T, 1).T, 0.0)
        risk: np.ndarray = 1 - right @ self.weights
        return risk


def _clusters(name: str, sizes: tuple[float, ...], each: int, flip: float, spread: float = 0.4) -> Population:
    """A cluster of `each` points a class around unit vectors; labels are replaced with probability `flip`."""
    k = len(sizes)
    rng = np.random.default_rng(list(name.encode()))
    classes = np.repeat(np.arange(k), each)
    points = np.eye(max(k, 2))[classes] + spread * rng.normal(size=(k * each, max(k, 2)))
    weights = np.repeat(np.array(sizes) / each, each)
    law = np.full((k * each, k), flip / (k - 1))
    law[np.arange(k * each), classes] = 1 - flip
    return Population(name, points, weights / weights.sum(), law)


def _ties() -> Population:
    """A grid whose middle column is as near to one class as to the other, and has labels of both."""
    points = np.array([(x, y) for x in (-1.0, 0.0, 1.0) for y in range(5)])
    left = np.where(points[:, 0] < 0, 1.0, np.where(points[:, 0] > 0, 0.0, 0.5))
    return Population("ties at the boundary", points, np.full(15, 1 / 15), np.stack([left, 1 - left], 1))


def _exclusive_or() -> Population:
    """Two classes with the same mean: no class mean tells them apart."""
    points = np.array([(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)] * 5) + 0.01 * np.arange(20)[:, None]
    left = (np.sign(points[:, 0]) == np.sign(points[:, 1])).astype(float)
    return Population("exclusive or", points, np.full(20, 1 / 20), np.stack([left, 1 - left], 1))


def _rare_inputs() -> Population:
    """Half of the mass on one point, the rest on sixty that are seldom seen and of the other class by a coin."""
    rng = np.random.default_rng(7)
    left = np.r_[1.0, rng.integers(0, 2, 60)]
    weights = np.r_[0.5, np.full(60, 0.5 / 60)]
    return Population("rare inputs", rng.normal(size=(61, 3)), weights, np.stack([left, 1 - left], 1))


POPULATIONS = (
    _clusters("95 to 5", (0.95, 0.05), 10, 0.0),
    _clusters("99 to 1", (0.99, 0.01), 10, 0.0),
    _clusters("30 % of the labels wrong", (0.5, 0.5), 15, 0.3),
    _clusters("labels that are noise", (0.5, 0.5), 15, 0.5),
    _clusters("12 points, copies of them, noisy", (0.5, 0.5), 6, 0.2),
    _ties(),
    _clusters("10 classes, rare tail", tuple(0.5 ** min(i + 1, 9) for i in range(10)), 3, 0.0),
    _clusters("20 classes", (0.05,) * 20, 2, 0.1),
    _exclusive_or(),
    _rare_inputs(),
)


def output_scale(head: str) -> float:
    """The prior variance of the residual: the default's with zero means, and that of the preset of a shared head."""
    return (
        Settings().gp.output_scale if head == "none" else float(preset_settings("shared-head", {})["gp.output-scale"])
    )


def head_logits(law: np.ndarray, kind: str) -> np.ndarray | None:
    """Logits [P, k] of a shared head, fixed before any sample: there is none of kind "none".

    Parameters
    ----------
    law : array [P, k]
        Probability of each label at some points.
    kind : {"none", "right", "wrong", "random"}
        ``right``: the law's logarithms, confident where the law is. ``wrong``: as confident in the next class.
        ``random``: confident in some class, which says nothing.
    """
    if kind == "none":
        return None
    if kind == "random":
        return 3.0 * np.random.default_rng(list(kind.encode())).normal(size=law.shape)
    right: np.ndarray = np.log(0.98 * law + 0.02 / law.shape[1])
    return right if kind == "right" else np.roll(right, 1, axis=1)
