"""A personal classifier as one module of plain tensor operations, for formats that run without pFedGP, such as ONNX.

It has no branch on values, no triangular solve and no randomness: the draws of omega are in its matrices.
"""

import math

import torch
from torch import Tensor, nn

from pfedgp_core.errors import ConfigError
from pfedgp_core.gp.chain_variances import shifted
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.prediction_cache import CachedNode, NodeProducts
from pfedgp_core.kernels.base import Kernel, Stationary, unit_sphere
from pfedgp_core.kernels.matern import Matern12
from pfedgp_core.numerics.probit_mixture import mixture
from pfedgp_core.numerics.quadrature import gauss_hermite
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.variants.prior_mean import node_log_odds

__all__ = ["PortableTree", "moments"]

LEAST = -1e9  # of a logarithm, so that products with 0 are 0
SMALLEST_VARIANCE = 1e-10


class PortableTree(nn.Module):
    """Maps features [N, d] to mean and variance of every node's latent value, [N, V] each, and probabilities [N, k].

    Parameters
    ----------
    classifier : PersonalClassifier
        Fitted.
    temperature : float
        Of the probabilities.

    Raises
    ------
    ConfigError
        The classifier has one class, or the link ``paper-explog``.
    """

    def __init__(self, classifier: PersonalClassifier, temperature: float) -> None:
        super().__init__()
        gp = classifier.settings.gp
        if not classifier.nodes_:
            raise ConfigError("The site has one class and always answers it: there is nothing to export.")
        if gp.link == "paper-explog":
            raise ConfigError("gp.link = 'paper-explog' is for reproductions and is not exported: train with 'arith'.")
        self.temperature, self.link = temperature, gp.link
        products = [cached.products() for cached in _cached(classifier)]
        self.nodes = nn.ModuleList(_Node(each, classifier.kernel, gp.jitter) for each in products)
        self.sides = _Sides(gp.quadrature)
        self.ratios = [known.log_ratio for known, _ in classifier.nodes_]
        self.tree, self.head = classifier.tree_, classifier.logits_of  # a module is a part of this one
        self.register_buffer("own", torch.as_tensor(classifier.classes_.astype("int64") if self.head else []))
        column = {c: i for i, c in enumerate(classifier.tree_.classes)}
        paths = torch.zeros(2, len(self.nodes), len(column))
        for v, node in enumerate(classifier.tree_.nodes):
            for side, classes in enumerate((node.left, node.right)):
                paths[side, v, [column[c] for c in classes]] = 1
        self.register_buffer("paths", paths)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See the class; mean and variance are those of the mixture of all chains."""
        logits = None if self.head is None else self.head(features).index_select(1, self.own)
        on_sphere = features * (features.square().sum(-1, keepdim=True) + 1e-12).rsqrt()
        means, variances, sides = [], [], []
        for node, place, ratio in zip(self.nodes, self.tree.nodes, self.ratios, strict=True):
            mu, v = node(on_sphere)
            if logits is not None:
                mu = mu + node_log_odds(logits, place)
            mean, variance = mixed(mu, v)
            means.append(mean)
            variances.append(variance)
            sides.append(torch.stack(self._node_sides(mu, v, ratio)))
        left, right = torch.stack(sides, -1).clamp_min(LEAST)
        assert isinstance(self.paths, Tensor)
        logs = left @ self.paths[0] + right @ self.paths[1]
        return torch.stack(means, 1), torch.stack(variances, 1), torch.softmax(logs / self.temperature, 1)

    own: Tensor

    def _node_sides(self, mu: Tensor, v: Tensor, ratio: tuple[float, float] | None) -> tuple[Tensor, Tensor]:
        """log P(left) and log P(right), [N] each, as `node_log_probabilities`."""
        left, right = self.sides(mu, v)
        if self.link == "arith":
            left, right = (torch.logsumexp(side, 0) - math.log(len(mu)) for side in (left, right))
        else:
            both = torch.stack((left.mean(0), right.mean(0)))
            left, right = both - torch.logsumexp(both, 0)
        return (left, right) if ratio is None else apply_class_ratio(left, right, *ratio)


class _Node(nn.Module):
    """Mean and variance of a node's latent value in every chain, [C, N] each; see `NodeProducts`."""

    def __init__(self, products: NodeProducts, kernel: Kernel, jitter: float) -> None:
        super().__init__()
        self.kernel, self.jitter, self.sign = kernel, jitter, products.sign
        for name in ("points", "whitener", "lift", "weights", "factors", "spread", "shifts"):
            self.register_buffer(name, getattr(products, name))

    points: Tensor
    whitener: Tensor | None
    lift: Tensor | None
    weights: Tensor
    factors: Tensor
    spread: Tensor | None
    shifts: Tensor | None

    def forward(self, on_sphere: Tensor) -> tuple[Tensor, Tensor]:
        """Shapes: [N, d] -> [C, N] twice."""
        k = self._covariances(on_sphere)
        base = self.kernel.diagonal(on_sphere) + self.jitter
        if self.whitener is not None:
            k = self.whitener @ k
            explained = k.square().sum(0)
            base = (base - explained).clamp_min(0)
            if self.lift is not None:
                base, k = base + explained, self.lift @ k
        mu, explained = self.weights @ k, (self.factors @ k).square().sum(1)
        if self.spread is None or self.shifts is None:
            v = base + self.sign * explained
        elif self.sign < 0:
            v = self._of_chains(base - explained[0], k)
        else:
            v = base + self._of_chains(explained[0], k)
        return mu, v.expand(mu.shape[0], -1)

    def _of_chains(self, v: Tensor, k: Tensor) -> Tensor:
        """A variance [N] at the chains' mean omega in every chain, [C, N]; see `chain_variances`."""
        assert self.spread is not None
        assert self.shifts is not None
        return shifted(v, self.shifts, (self.spread @ k).square())

    def _covariances(self, on_sphere: Tensor) -> Tensor:
        """k(points, x), [M, N]."""
        kernel, points = self.kernel, self.points
        if not isinstance(kernel, Stationary):
            return kernel.output_scale * (points @ on_sphere.T)
        if isinstance(kernel, Matern12):  # its cusp magnifies the rounding of small distances
            points, on_sphere = points.double(), on_sphere.double()
        squared = points.square().sum(1)[:, None] + on_sphere.square().sum(1)[None] - 2 * points @ on_sphere.T
        scaled = squared.clamp_min(0).float() / kernel.length_scale**2
        return kernel.output_scale * kernel.correlation(scaled)


class _Sides(nn.Module):
    """log E sigma(f) and log E sigma(-f) of f ~ N(mu, v), as `log_sigmoid_expectation`."""

    def __init__(self, quadrature: int) -> None:
        super().__init__()
        self.quadrature = quadrature
        first, second = gauss_hermite(quadrature) if quadrature else mixture(torch.float32, torch.device("cpu"))
        self.register_buffer("first", first.clone())
        self.register_buffer("second", second.clone())

    first: Tensor
    second: Tensor

    def forward(self, mu: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Shapes: [C, N] twice -> [C, N] twice."""
        a, v = mu.abs(), v.clamp_min(SMALLEST_VARIANCE)
        if self.quadrature:
            f = v.sqrt()[..., None] * self.first - a[..., None]
            small_log = torch.log((torch.sigmoid(f) * self.second.exp()).sum(-1))
        else:
            far = a > 0.5 * v
            z = torch.where(far, a - v, -a)[..., None] * (self.second + v[..., None]).rsqrt()
            half = (1 + torch.erf(z * math.sqrt(0.5))) / 2
            small_log = torch.log((half * self.first).sum(-1)) + torch.where(far, 0.5 * v - a, torch.zeros_like(a))
        large_log = torch.log(1 - small_log.exp())
        return torch.where(mu < 0, small_log, large_log), torch.where(mu < 0, large_log, small_log)


def moments(classifier: PersonalClassifier, features: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of every node's latent value under the classifier itself, [N, V] each."""
    on_sphere, logits = unit_sphere(features), classifier.head_logits(features)
    both = []
    for node, cached in zip(classifier.tree_.nodes, _cached(classifier), strict=True):
        mu, v = cached.moments(on_sphere)
        both.append(mixed(mu if logits is None else mu + node_log_odds(logits, node), v))
    means, variances = zip(*both, strict=True)
    return torch.stack(means, 1), torch.stack(variances, 1)


def mixed(mu: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of a mixture of normal laws of equal weights, [C, N] twice -> [N] twice."""
    mean = mu.mean(0)
    return mean, v.mean(0) + (mu - mean).square().mean(0)


def _cached(classifier: PersonalClassifier) -> list[CachedNode]:
    nodes = zip(classifier.nodes_, classifier.weights_, strict=True)
    return [CachedNode(known.gp, omega, weights) for (known, omega), weights in nodes]
