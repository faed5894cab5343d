"""A client's personal classifier: a tree of binary GPs on its own features, without any training of weights."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, DataError, NonFiniteError
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.nodes import sample_nodes
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import Kernel, unit_sphere
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.tree.client_tree import ClientTree, tree_classes
from pfedgp_core.tree.leave_one_out import know_their_points, left_out_log_probabilities
from pfedgp_core.tree.splits import Tree, class_log_probabilities
from pfedgp_core.tree.uncertainty import Prediction, binary_entropy, expected_entropy, split_entropy
from pfedgp_core.tree.variants.make import make_variant

if TYPE_CHECKING:
    from pfedgp_core.tree.variants.base import NodeGP

__all__ = ["PersonalClassifier"]

ROWS = 2048  # test points at a time, so that memory does not grow with their number


class PersonalClassifier:
    """GP tree classifier on fixed features, in the manner of scikit-learn.

    Parameters
    ----------
    settings : Settings, optional
        Variant, kernel, chains, sweeps and link; the paper's defaults if left out.
    stream : Stream, optional
        Randomness of the Gibbs chains; ``Stream(settings.seed, "classifier")`` if left out.
    inducing : Tensor [K, M, d], optional
        The federation's inducing inputs, for the variants that use them; labels must then be class ids 0..K-1.
    kernel : Kernel, optional
        Where its scales are learned; from the settings if left out.

    Attributes
    ----------
    classes_ : ndarray [k]
        Sorted class labels of the training data (with ``classes = "all"`` of the federation); the columns of
        ``predict_proba``.
    tree_ : Tree
        Over positions in ``classes_``.
    counters_ : Counter
        Numerical recoveries and restarted chains.

    Raises
    ------
    ConfigError
        The variant needs inducing inputs and there are none.

    Examples
    --------
    >>> classifier = PersonalClassifier().fit(features, labels)
    >>> classifier.predict_proba(new_features).sum(axis=1)      # ones
    """

    classes_: np.ndarray
    tree_: Tree

    def __init__(
        self,
        settings: Settings | None = None,
        stream: Stream | None = None,
        inducing: Tensor | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.settings = settings or Settings()
        if VARIANTS[self.settings.variant].needs_inducing and inducing is None:
            raise ConfigError(
                f"variant = {self.settings.variant!r} needs inducing inputs: pass those of the shared model."
            )
        self.stream = stream or Stream(self.settings.seed, "classifier")
        self.inducing = None if inducing is None else inducing.detach()
        gp = self.settings.gp
        self.kernel = kernel or make_kernel(gp.kernel, gp.output_scale, gp.length_scale)
        self.counters_: Counter[str] = Counter()
        self.nodes_: list[tuple[NodeGP, Tensor]] = []
        self._caches: list[CachedNode] = []

    def fit(self, features: ArrayLike | Tensor, labels: ArrayLike | Tensor) -> "PersonalClassifier":
        """Build the tree and draw omega at every node.

        Parameters
        ----------
        features : array or Tensor [N, d]
            Raw features of the kernel network; they are put on the unit sphere here.
        labels : array or Tensor [N]
            Class labels of any sortable type. A single class gives a classifier that always answers it.

        Raises
        ------
        DataError
            No samples, or lengths that differ.
        NonFiniteError
            NaN or infinity among the features; raised before anything is sampled.
        """
        features = self._checked(features)
        given = _as_numpy(labels)
        if len(given) != len(features):
            raise DataError(f"There are {len(features)} feature rows but {len(given)} labels: give one label a row.")
        if not len(given):
            raise DataError("A classifier needs at least one sample: the training data are empty.")
        names, ids = (given, given) if self.inducing is not None else np.unique(given, return_inverse=True)
        codes = torch.from_numpy(np.ascontiguousarray(ids.reshape(-1), dtype=np.int64))
        self.counters_ = Counter()
        gp = self.settings.gp
        with torch.no_grad():
            if self.inducing is not None:
                self.inducing = self.inducing.to(features)
            classes = tree_classes(codes, self.inducing, self.settings)
            client = ClientTree.build(features, codes, classes, self.inducing, self.stream)
            self.classes_ = np.asarray(client.classes) if self.inducing is not None else names
            self.tree_ = client.tree
            self._points = points = client.points(features, self.inducing)
            variant = make_variant(self.settings, self.kernel).for_tree(client.tree, points, self.counters_)
            known = [variant.conditioned(node, points, self.counters_) for node in client.tree.nodes]
            streams = [self.stream.child(node.index) for node in client.tree.nodes]
            sweeps = gp.predict_sweeps or gp.sweeps
            omegas = sample_nodes([node.gp for node in known], streams, gp.predict_chains, sweeps, self.counters_)
            self.nodes_, self._caches = list(zip(known, omegas, strict=True)), []
        return self

    def restore(
        self,
        features: ArrayLike | Tensor,
        labels: ArrayLike | Tensor,
        classes: Sequence[int],
        tree: Tree,
        omegas: Sequence[Tensor],
        weights: Sequence[Tensor],
    ) -> "PersonalClassifier":
        """Become the classifier that had these samples, tree and draws; nothing is sampled.

        Parameters
        ----------
        features : array or Tensor [N, d]
            As `fit` had them.
        labels : array or Tensor [N]
            Class ids.
        classes : sequence of int
            The former ``classes_``.
        tree : Tree
            The former ``tree_``.
        omegas, weights : sequence of Tensor [C, n] and [C, m], one a node
            The former ``omegas_`` and ``weights_``.

        Raises
        ------
        DataError
            The parts do not fit together.
        """
        features, ids = self._checked(features), np.asarray(classes)
        positions = np.searchsorted(ids, _as_numpy(labels)).clip(max=len(ids) - 1)
        fitting = len(omegas) == len(weights) == len(tree.nodes) == len(ids) - 1
        if (ids[positions] != _as_numpy(labels)).any() or not fitting:
            raise DataError("Classes, tree and draws of the classifier do not belong together: fit it again.")
        self.classes_, self.tree_, self.counters_ = ids, tree, Counter()
        own = ids.tolist() if self.inducing is not None else list(range(len(ids)))
        with torch.no_grad():
            client = ClientTree(own, torch.from_numpy(positions.astype(np.int64)), tree)
            self._points = points = client.points(features, self.inducing)
            variant = make_variant(self.settings, self.kernel).for_tree(tree, points, self.counters_)
            self.nodes_, self._caches = [], []
            for node, omega, known_weights in zip(tree.nodes, omegas, weights, strict=True):
                known = variant.conditioned(node, points, self.counters_)
                if omega.shape[1:] != known.gp.kappa.shape:
                    raise DataError(
                        f"Node {node.index} has {len(known.gp.kappa)} points and draws for {omega.shape[1]}: fit the "
                        "classifier again."
                    )
                self.nodes_.append((known, omega))
                self._caches.append(CachedNode(known.gp, omega, known_weights))
        return self

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
            self.tree_, self.nodes_, self._cached(), self._points.features, self.settings.gp.quadrature
        )
        return logs.cpu().numpy()

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
            for cache, (known, _) in zip(self._cached(), self.nodes_, strict=True):
                mu, v = cache.moments(on_sphere)
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


def _as_numpy(labels: ArrayLike | Tensor) -> np.ndarray:
    return labels.cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)


def _normalised(log_probabilities: np.ndarray) -> np.ndarray:
    probabilities = np.exp(log_probabilities)
    normalised: np.ndarray = probabilities / probabilities.sum(axis=1, keepdims=True)
    return normalised
