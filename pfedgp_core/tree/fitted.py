"""What a fitted tree of GPs answers: class probabilities, their uncertainty, and those of its own samples left out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.tree.client_tree import ClientTree
from pfedgp_core.tree.leave_one_out import know_their_points, left_out_log_probabilities
from pfedgp_core.tree.splits import Tree, class_log_probabilities
from pfedgp_core.tree.uncertainty import Prediction, binary_entropy, expected_entropy, split_entropy
from pfedgp_core.tree.variants.prior_mean import LogitsOf, node_log_odds

if TYPE_CHECKING:
    from pfedgp_core.tree.variants.base import ClientPoints, NodeGP

__all__ = ["ROWS", "FittedTree", "require_finite"]

ROWS = 2048  # test points at a time, so that memory does not grow with their number


class FittedTree:
    """The answers of a `PersonalClassifier`, which fits the tree.

    Attributes
    ----------
    settings : Settings
    classes_ : ndarray [k]
    tree_ : Tree
    nodes_ : list of (NodeGP, Tensor [C, n])
        The GP of every node, and its draws of omega.
    logits_of : callable or None
        The shared head.
    """

    settings: Settings
    classes_: np.ndarray
    tree_: Tree
    nodes_: "list[tuple[NodeGP, Tensor]]"
    logits_of: LogitsOf | None
    _client: ClientTree
    _points: "ClientPoints"
    _caches: list[CachedNode]

    @property
    def omegas_(self) -> list[Tensor]:
        """Draws of omega, [C, n] for every node of the tree."""
        return [omega for _, omega in self.nodes_]

    @property
    def weights_(self) -> list[Tensor]:
        """Weights of the predictive means, [C, m] for every node; see `prediction_cache`."""
        return [cache.weights for cache in self._cached()]

    def predict_log_proba(self, features: ArrayLike | Tensor) -> np.ndarray:
        """Log class probabilities, float64 [T, k], columns in the order of ``classes_``."""
        parts = [self._log_probabilities(rows)[0] for rows in self._batches(features)]
        return torch.cat(parts).cpu().numpy()

    def predict_with_uncertainty(self, features: ArrayLike | Tensor) -> Prediction:
        """Class probabilities, their entropy, and its split in what more data could remove and what not.

        See `uncertainty` for the definitions.
        """
        logs, entropies = [], []
        for rows in self._batches(features):
            log_probabilities, sides, moments = self._log_probabilities(rows)
            nodes = [
                (binary_entropy(*side), expected_entropy(*moment, self.settings.gp.quadrature, known.log_ratio))
                for side, moment, (known, _) in zip(sides, moments, self.nodes_, strict=True)
            ]
            logs.append(log_probabilities)
            entropies.append(split_entropy(self.tree_, log_probabilities, nodes))
        entropy, aleatoric = (np.concatenate(parts) for parts in zip(*entropies, strict=True))
        together: np.ndarray = torch.cat(logs).cpu().numpy()
        predicted = together.argmax(axis=1)  # as `predict` answers
        return Prediction(_normalised(together), entropy, aleatoric, entropy - aleatoric, predicted)

    @property
    def leaves_one_out(self) -> bool:
        """Whether its nodes know which samples they are conditioned on, so that one of them can be left out."""
        self._require_fitted()
        return know_their_points(known for known, _ in self.nodes_)

    def leave_one_out_log_proba(self) -> np.ndarray:
        """Log class probabilities of every training sample given all others, float64 [N, k], without fitting again.

        Columns in the order of ``classes_``; the link is ``arith``. See `left_out_log_probabilities`.
        """
        self._require_fitted()
        logs = left_out_log_probabilities(
            self.tree_, self.nodes_, self._cached(), self._points, self.settings.gp.quadrature
        )
        return logs.cpu().numpy()

    def head_logits(self, features: Tensor) -> Tensor | None:
        """What the shared head says of raw features [T, d]: logits [T, k] of ``classes_``; None without one.

        Raises
        ------
        NonFiniteError
            They hold NaN or infinity.
        """
        if self.logits_of is None:
            return None
        logits = self._client.own_logits(self.logits_of(features))
        require_finite(logits)
        return logits

    def predict_proba(self, features: ArrayLike | Tensor) -> np.ndarray:
        """Class probabilities of the posterior, float64 [T, k]; every row sums to 1."""
        return _normalised(self.predict_log_proba(features))

    def predict(self, features: ArrayLike | Tensor) -> np.ndarray:
        """Most probable class label of every row, [T]; ties go to the lower column."""
        predicted: np.ndarray = self.classes_[self.predict_log_proba(features).argmax(axis=1)]
        return predicted

    def _require_fitted(self) -> None:
        if not hasattr(self, "tree_"):
            raise DataError("The classifier has no training data yet: call fit first.")

    def _batches(self, features: ArrayLike | Tensor) -> Sequence[Tensor]:
        self._require_fitted()
        blocks: Sequence[Tensor] = self._checked(features).split(ROWS)
        return blocks

    def _cached(self) -> list[CachedNode]:
        if len(self._caches) < len(self.nodes_):
            self._caches = [CachedNode(known.gp, omega) for known, omega in self.nodes_]
        return self._caches

    def _log_probabilities(
        self, features: Tensor
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
        """log P(class) [T, k]; for every node log P(left) and log P(right) [T], mean and variance of f* [C, T]."""
        gp = self.settings.gp
        sides, moments = [], []
        with torch.no_grad():
            on_sphere = unit_sphere(features)
            logits = self.head_logits(features)
            for node, cache, (known, _) in zip(self.tree_.nodes, self._cached(), self.nodes_, strict=True):
                mu, v = cache.moments(on_sphere)
                if logits is not None:
                    mu = mu + node_log_odds(logits, node)
                left, right = node_log_probabilities(mu, v, gp.link, gp.quadrature)
                if known.log_ratio is not None:
                    left, right = apply_class_ratio(left, right, *known.log_ratio)
                sides.append((left.double(), right.double()))
                moments.append((mu, v))
            return class_log_probabilities(self.tree_, sides, len(features)).double(), sides, moments

    def _checked(self, features: ArrayLike | Tensor) -> Tensor:
        tensor = features if isinstance(features, Tensor) else torch.as_tensor(np.asarray(features))
        if not tensor.is_floating_point():
            tensor = tensor.float()
        if tensor.ndim != 2:
            raise DataError(f"Features have shape {tuple(tensor.shape)}; give a matrix of samples x features.")
        if not torch.isfinite(tensor).all():
            raise NonFiniteError("The features hold NaN or infinity: clean the inputs of the kernel network.")
        return tensor.detach()


def require_finite(logits: Tensor | None) -> None:
    """Raise NonFiniteError where logits of a shared head hold NaN or infinity."""
    if logits is not None and not torch.isfinite(logits).all():
        raise NonFiniteError("The shared head gives NaN or infinity: take another model.")


def _normalised(log_probabilities: np.ndarray) -> np.ndarray:
    probabilities = np.exp(log_probabilities)
    normalised: np.ndarray = probabilities / probabilities.sum(axis=1, keepdims=True)
    return normalised
