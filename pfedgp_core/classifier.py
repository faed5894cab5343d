"""A client's personal classifier: a tree of binary GPs on its own features, without any training of weights."""

from collections import Counter

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.full_gp import FullGP
from pfedgp_core.kernels import make_kernel, unit_sphere
from pfedgp_core.links import node_log_probabilities
from pfedgp_core.streams import Stream
from pfedgp_core.tree import Tree, build_tree, class_log_probabilities, class_means
from pfedgp_core.variants import make_variant

__all__ = ["PersonalClassifier"]


class PersonalClassifier:
    """GP tree classifier on fixed features, in the manner of scikit-learn.

    Parameters
    ----------
    settings : Settings, optional
        Kernel, chains, sweeps and link (``settings.gp``) and the variant; the paper's defaults if left out.
    stream : Stream, optional
        Randomness of the Gibbs chains; ``Stream(settings.seed, "classifier")`` if left out.

    Attributes
    ----------
    classes_ : ndarray [k]
        Sorted class labels of the training data; the columns of ``predict_proba``.
    tree_ : Tree
        Over positions in ``classes_``.
    counters_ : Counter
        Numerical recoveries and restarted chains.

    Examples
    --------
    >>> classifier = PersonalClassifier().fit(features, labels)
    >>> classifier.predict_proba(new_features).sum(axis=1)      # ones
    """

    classes_: np.ndarray
    tree_: Tree

    def __init__(self, settings: Settings | None = None, stream: Stream | None = None) -> None:
        self.settings = settings or Settings()
        self.stream = stream or Stream(self.settings.seed, "classifier")
        self.counters_: Counter[str] = Counter()
        self._nodes: list[tuple[FullGP, Tensor]] = []

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
        self.classes_, columns = np.unique(_as_numpy(labels), return_inverse=True)
        if len(columns) != len(features):
            raise DataError(f"There are {len(features)} feature rows but {len(columns)} labels: give one label a row.")
        if not len(columns):
            raise DataError("A classifier needs at least one sample: the training data are empty.")
        targets = torch.from_numpy(columns.reshape(-1)).to(features.device)
        positions = list(range(len(self.classes_)))
        self.counters_ = Counter()
        with torch.no_grad():
            self.tree_ = build_tree(class_means(features, targets, positions), positions, self.stream.child("tree").numpy)
            gp = self.settings.gp
            variant = make_variant(self.settings, make_kernel(gp.kernel, gp.output_scale, gp.length_scale))
            on_sphere = unit_sphere(features)
            self._nodes = []
            for node in self.tree_.nodes:
                model = variant.prediction_gp(node, on_sphere, targets, self.counters_)
                omega = model.sample_omega(gp.predict_chains, gp.sweeps, self.stream.child(node.index))
                self._nodes.append((model, omega))
        return self

    def predict_log_proba(self, features: ArrayLike | Tensor) -> np.ndarray:
        """Log class probabilities, float64 [T, k], columns in the order of ``classes_``."""
        if not hasattr(self, "tree_"):
            raise DataError("The classifier has no training data yet: call fit first.")
        features = self._checked(features)
        gp = self.settings.gp
        with torch.no_grad():
            on_sphere = unit_sphere(features)
            sides = []
            for model, omega in self._nodes:
                mu, v = model.predict(on_sphere, omega)
                left, right = node_log_probabilities(mu, v, gp.link, gp.quadrature)
                sides.append((left.double(), right.double()))
            logs = class_log_probabilities(self.tree_, sides, len(features))
        return logs.double().cpu().numpy()

    def predict_proba(self, features: ArrayLike | Tensor) -> np.ndarray:
        """Class probabilities, float64 [T, k]; every row sums to 1."""
        probabilities = np.exp(self.predict_log_proba(features))
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, features: ArrayLike | Tensor) -> np.ndarray:
        """Most probable class label of every row, [T]; ties go to the lower column."""
        return self.classes_[self.predict_log_proba(features).argmax(axis=1)]

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
