"""A client's personal classifier: a tree of binary GPs on its own features, without any training of weights."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.gp.nodes import sample_nodes
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.tree.client_tree import ClientTree, tree_classes
from pfedgp_core.tree.fitted import FittedTree, require_finite
from pfedgp_core.tree.splits import Tree
from pfedgp_core.tree.variants.make import make_variant
from pfedgp_core.tree.variants.prior_mean import LogitsOf

if TYPE_CHECKING:
    from pfedgp_core.tree.variants.base import ClientPoints, NodeGP

__all__ = ["PersonalClassifier"]


class PersonalClassifier(FittedTree):
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
    logits_of : callable, optional
        The federation's shared head, whose log odds are the prior means (`tree.variants.prior_mean`); labels must then
        be class ids. Zero means if left out.

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
        logits_of: LogitsOf | None = None,
    ) -> None:
        self.settings = settings or Settings()
        if VARIANTS[self.settings.variant].needs_inducing and inducing is None:
            raise ConfigError(
                f"variant = {self.settings.variant!r} needs inducing inputs: pass those of the shared model."
            )
        self.stream = stream or Stream(self.settings.seed, "classifier")
        self.inducing = None if inducing is None else inducing.detach()
        self.logits_of = logits_of
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
        names, ids = (given, given) if self._labels_are_ids else np.unique(given, return_inverse=True)
        codes = torch.from_numpy(np.ascontiguousarray(ids.reshape(-1), dtype=np.int64))
        self.counters_ = Counter()
        gp = self.settings.gp
        with torch.no_grad():
            if self.inducing is not None:
                self.inducing = self.inducing.to(features)
            classes = tree_classes(codes, self.inducing, self.settings)
            client = ClientTree.build(features, codes, classes, self.inducing, self.stream)
            self.classes_ = np.asarray(client.classes) if self._labels_are_ids else names
            self.tree_ = client.tree
            points = self._points_of(client, features)
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
        own = ids.tolist() if self._labels_are_ids else list(range(len(ids)))
        with torch.no_grad():
            points = self._points_of(ClientTree(own, torch.from_numpy(positions.astype(np.int64)), tree), features)
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

    def _points_of(self, client: ClientTree, features: Tensor) -> "ClientPoints":
        """Keep the client's tree and its points; NonFiniteError where the shared head's logits are not finite."""
        self._client = client
        self._points = client.points(features, self.inducing, self.logits_of)
        require_finite(self._points.logits)
        return self._points

    @property
    def _labels_are_ids(self) -> bool:
        """Whether labels are class ids of the federation, which inducing inputs and a shared head speak of."""
        return self.inducing is not None or self.logits_of is not None


def _as_numpy(labels: ArrayLike | Tensor) -> np.ndarray:
    return labels.cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
