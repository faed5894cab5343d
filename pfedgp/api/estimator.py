"""A site's personal classifier as an estimator of scikit-learn, on features or on a federation's model."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pfedgp.api.model_inputs import model_inputs
from pfedgp.run_model import read_model
from pfedgp_core.config import Settings
from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree.classifier import PersonalClassifier as TreeClassifier
from pfedgp_core.tree.uncertainty import Prediction

__all__ = ["PersonalClassifier"]


class PersonalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """A tree of Gaussian processes that classifies with uncertainty; nothing is trained by gradients.

    With a federation's model it is what ``pfedgp onboard`` makes, to the bit: a site's classifier in the kernel that
    the federation has learned. Without one it takes its inputs as features, in the kernel that the settings name.

    Parameters
    ----------
    model : str or Path, optional
        Folder ``best`` or ``final`` of a run. The default is none: each row is a feature vector. It is put on the unit
        sphere, so that its direction counts and its length does not; standardise columns before.
    settings : mapping, optional
        Settings by their keys (``pfedgp settings``), such as ``{"gp.kernel": "matern52"}``. A model has its own.
    temperature : float, optional
        Of the probabilities; default: that of the model, and 1 without one.
    random_state : int, optional
        Seed of the Gibbs chains; default: that of the settings or the model.
    allow_network : tuple of str
        Import paths that the model may name as its network.

    Attributes
    ----------
    classes_ : numpy.ndarray [k]
        The labels, sorted; the columns of `predict_proba`.
    n_features_in_ : int
        Columns of the training data.
    classifier_ : pfedgp_core.tree.classifier.PersonalClassifier
        The tree and its nodes.
    site_ : pfedgp_core.site.saved.SavedSite or None
        With a model: the site, which ``save`` writes for ``pfedgp predict``.

    Examples
    --------
    >>> classifier = make_pipeline(StandardScaler(), PersonalClassifier(random_state=0)).fit(X, y)
    >>> PersonalClassifier("runs/digits/best").fit(images, names).uncertainty(new).epistemic
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        temperature: float | None = None,
        random_state: int | None = None,
        allow_network: tuple[str, ...] = (),
    ) -> None:
        self.model = model
        self.settings = settings
        self.temperature = temperature
        self.random_state = random_state
        self.allow_network = allow_network

    def fit(self, X: ArrayLike, y: ArrayLike) -> "PersonalClassifier":
        """Build the tree and draw omega at every node.

        Parameters
        ----------
        X : array [N, d], or with a model also images [N, C, H, W]
            With a model: inputs as it takes them, an image also as one row of its pixels. Columns of a data frame are
            found by their names where the model has names; an array is taken by position.
        y : array [N]
            Labels; with a model the names of its classes, or their positions.

        Raises
        ------
        ValueError
            Arrays that scikit-learn refuses: gaps, infinity, lengths that differ, targets of a regression.
        ConfigError
            A setting is unknown or does not go with another, or the model cannot be used.
        DataError
            Inputs that the model does not take, or a class that it does not have.
        """
        rows, labels = validate_data(self, X, y, **_checks(self.model is not None))
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.site_: SavedSite | None = None
        if self.model is None:
            self.classifier_ = TreeClassifier(self._settings()).fit(torch.tensor(rows), codes)
        else:
            self.site_ = self._site(self._own_model(Path(self.model)), rows, codes)
            self.classifier_ = self.site_.classifier
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Class probabilities, float64 [N, k], columns in the order of ``classes_``."""
        return self.uncertainty(X).probabilities

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable label of every row, [N]; the same at any temperature."""
        found = self.uncertainty(X).predicted
        labels: np.ndarray = self.classes_[found]
        return labels

    def uncertainty(self, X: ArrayLike) -> Prediction:
        """Probabilities, and the entropy of the posterior split in what more data could remove and what not."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, **_checks(self.site_ is not None))
        if self.site_ is None:
            found = self.classifier_.predict_with_uncertainty(torch.tensor(rows))
            return found.at(1.0 if self.temperature is None else self.temperature)
        found = self.site_.predict(self._inputs(self.site_.model, rows), self.temperature)
        return replace(
            found, probabilities=found.probabilities[:, self._columns], predicted=self._places[found.predicted]
        )

    def _settings(self) -> Settings:
        seed = {} if self.random_state is None else {"seed": int(self.random_state)}
        return Settings.from_run_config({**(self.settings or {}), **seed})

    def _own_model(self, path: Path) -> TrainedModel:
        if self.settings is not None:
            raise ConfigError("A model has the settings of its run: leave out settings, or the model.")
        model, _ = read_model(path, self.allow_network)
        if self.random_state is None:
            return model
        return replace(model, settings=replace(model.settings, seed=int(self.random_state)))

    def _inputs(self, model: TrainedModel, rows: np.ndarray) -> np.ndarray:
        names = getattr(self, "feature_names_in_", None)
        return model_inputs(rows, model, () if names is None else tuple(names.tolist()))

    def _site(self, model: TrainedModel, rows: np.ndarray, codes: np.ndarray) -> SavedSite:
        """The site on the model; notes which of its columns is which label."""
        own = map_classes([str(label) for label in self.classes_.tolist()], model.class_names)
        self._require_apart(model, own)
        samples = SiteSamples.compute(Split(self._inputs(model, rows), own[codes]), model)
        site = SavedSite.fit("estimator", model, samples)
        order = {class_id: place for place, class_id in enumerate(site.classifier.classes_.tolist())}
        self._columns = np.array([order[class_id] for class_id in own.tolist()])
        self._places = np.argsort(self._columns)
        return site

    def _require_apart(self, model: TrainedModel, own: np.ndarray) -> None:
        if len(set(own.tolist())) < len(own):
            raise DataError(
                f"Two of the labels {self.classes_.tolist()[:10]} are one class of the model: give each one spelling."
            )
        if model.settings.classes == "all":
            raise ConfigError(
                "The model was trained with classes = 'all', and may answer others than those of y: use pfedgp onboard."
            )


def _checks(with_model: bool) -> dict[str, Any]:
    """How scikit-learn checks arrays: a model says itself what type and shape it takes."""
    return {"dtype": None, "allow_nd": True} if with_model else {"dtype": np.float64}
