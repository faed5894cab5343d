"""A federation's trained model, ready for use: the shared vector and all that is needed to apply it to raw inputs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.checks import MALFORMED, count, text
from pfedgp_core.config import Settings
from pfedgp_core.data.column_names import columns_fault
from pfedgp_core.data.datasets import Split, load_dataset, normalised
from pfedgp_core.data.spec import class_names_fault
from pfedgp_core.data.value_range import RANGES, usual_range
from pfedgp_core.errors import ArtefactError, ConfigError, PFedGPError
from pfedgp_core.floors.discriminant import whitening
from pfedgp_core.foreign_code import refuse_foreign_code
from pfedgp_core.memory import MemoryLimit, require_memory
from pfedgp_core.metrics.calibration import TEMPERATURE_LIMITS, is_temperature
from pfedgp_core.metrics.model_temperature import is_spread
from pfedgp_core.model.covariance import covariance_of, shared_part
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.metric import Metric
from pfedgp_core.model.needs import Workload, client_needs, model_needs
from pfedgp_core.model.network import feature_width
from pfedgp_core.model.shared import SharedState
from pfedgp_core.registry import METHODS, TASKS
from pfedgp_core.tree.variants.prior_mean import LogitsOf
from pfedgp_core.words import cut

__all__ = ["TrainedModel"]


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """The shared vector of a federation and what its values mean.

    With method ``whitened`` the vector ends with a covariance, and `features` are whitened by it.

    Attributes
    ----------
    vector : numpy.ndarray, float32 [P]
    settings : Settings
        Of the run.
    class_names : tuple of str
        The federation's classes.
    input_shape : tuple of int
        Shape of one input, (C, H, W) or (D,).
    mean, std : numpy.ndarray, float32 [C] or [D]
        Normalisation of the inputs, as in training.
    participants : tuple of str
        Clients whose data trained or selected the model.
    temperature : float
        Chosen by the federation (`pfedgp_core.metrics.model_temperature`); 1 where none was.
    allowed : tuple of str
        Import paths that the operator of this machine lets the model name as its network.
    columns : tuple of str
        Names of the D features of tables, or their hashes, in the order of the inputs; empty where there are none.
    value_range : str
        Of images, see `pfedgp_core.data.value_range`; empty for vectors.
    temperature_spread : float
        Standard deviation of log T among the federation's clients; 1, a factor of e, where it is not known.

    Raises
    ------
    ConfigError
        The model is a regression.
    ArtefactError
        The temperature is none that a run could have chosen.
    """

    vector: np.ndarray
    settings: Settings
    class_names: tuple[str, ...]
    input_shape: tuple[int, ...]
    mean: np.ndarray
    std: np.ndarray
    participants: tuple[str, ...] = ()
    temperature: float = 1.0
    allowed: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    value_range: str = ""
    temperature_spread: float = 1.0

    def __post_init__(self) -> None:
        if not TASKS[self.settings.task].classes:
            raise ConfigError(
                f"This model was trained with task = {self.settings.task!r}, and a personal classifier needs classes: "
                "give a model of a classification."
            )
        if not is_temperature(self.temperature):
            low, high = TEMPERATURE_LIMITS
            raise ArtefactError(
                f"The model's temperature is {str(self.temperature)[:40]}, and no run chooses one that is not a number "
                f"from {low:g} to {high:g}: restore the model from a copy or run again."
            )
        if not is_spread(self.temperature_spread):
            raise ArtefactError(
                f"The spread of the model's temperature is {str(self.temperature_spread)[:40]}, and no run finds one "
                "that is not a number from 0.01 to 10: restore the model from a copy or run again."
            )

    @classmethod
    def from_artefact(
        cls, vector: np.ndarray, meta: Mapping[str, Any], allowed: tuple[str, ...] = ()
    ) -> "TrainedModel":
        """The model of a run, from what ``server.run.model_file.load_model`` returns.

        Models that do not carry their normalisation take it from the data set that their settings name; those without
        a temperature have temperature 1.

        Raises
        ------
        ArtefactError
            The description lacks something, its temperature cannot be, or the normalisation cannot be found.
        ConfigError
            The settings are not known to this version, or belong to a regression.
        """
        try:
            settings = Settings.from_run_config(meta["settings"])
            names = tuple(text(name) for name in meta["class_names"])
            shape = tuple(count(size) for size in meta["input_shape"])
            scale = meta.get("normalisation")
            with np.errstate(over="ignore"):  # the result is checked below
                moments = None if scale is None else tuple(np.array(scale[k], np.float32) for k in ("mean", "std"))
            participants = tuple(text(name) for name in meta.get("clients", ()))
            columns = tuple(text(name) for name in meta.get("columns", ()))
            values = usual_range(text(meta.get("value_range", "")), shape)
        except MALFORMED as error:
            raise ArtefactError(
                f"The model does not say what it is for ({type(error).__name__}: {cut(error, 100)} in meta.json): give "
                "the folder 'best' or 'final' of a run of this version."
            ) from error
        if fault := class_names_fault(names) or columns_fault(columns, shape[0] if shape else None):
            raise ArtefactError(f"The model has {fault}: give the folder 'best' or 'final' of a run of this version.")
        if values not in ("", *RANGES):
            raise ArtefactError(
                f"The model takes images of the range {cut(values, 40)!r}, which this version does not know: update "
                "pFedGP."
            )
        mean, std = moments or _of_data_set(settings, shape)
        finite = np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
        if mean.shape != shape[:1] or std.shape != shape[:1] or not finite:
            raise ArtefactError(
                f"The model's normalisation does not fit its inputs of shape {shape}: give a model of another run."
            )
        at = meta.get("temperature", 1.0), allowed, columns, values, meta.get("temperature_spread", 1.0)
        return cls(vector, settings, names, shape, mean, std, participants, *at)

    @classmethod
    def from_site(
        cls, about: Mapping[str, Any], tensors: Mapping[str, np.ndarray], allowed: tuple[str, ...] = ()
    ) -> "TrainedModel":
        """The model in the description and the tensors of a saved site, which were checked (`description`)."""
        shape = tuple(about["input_shape"])
        return cls(
            tensors["shared"],
            Settings.from_run_config(about["settings"]),
            tuple(about["class_names"]),
            shape,
            tensors["mean"],
            tensors["std"],
            tuple(about.get("participants", ())),
            about.get("temperature", 1.0),  # sites of former versions have none
            allowed,
            tuple(about.get("model_columns", ())),
            usual_range(about.get("value_range", ""), shape),
            about.get("temperature_spread", 1.0),
        )

    @cached_property
    def sha256(self) -> str:
        """Hash of the shared vector, hex."""
        return hashlib.sha256(np.ascontiguousarray(self.vector).tobytes()).hexdigest()

    @cached_property
    def state(self) -> SharedState:
        """The network and inducing inputs, for prediction.

        Raises
        ------
        DataError
            The vector does not fit the settings.
        ConfigError
            The network is code that the operator has not allowed, cannot be built, or is too large for this machine.
        """
        refuse_foreign_code({"network": self.settings.network}, self.allowed, "The model", "give --allow-{kind} {name}")
        needs = model_needs(self.settings, self.input_shape, len(self.class_names), copies=2)
        require_memory(needs, MemoryLimit.of_machine())
        state = SharedState.initial(self.settings, self.input_shape, len(self.class_names))
        whitens = _whitens(self.settings)
        vector = shared_part(self.vector, feature_width(state.network, self.input_shape)) if whitens else self.vector
        state.load_vector(vector)
        return state.requires_grad_(False).eval()

    @cached_property
    def metric(self) -> Metric | None:
        """What becomes of the network's features; None where they stay as they are."""
        if not _whitens(self.settings):
            return None
        name = self.settings.method
        shrinkage = self.settings.own.get(f"{name}.shrinkage", METHODS[name].settings)
        covariance = covariance_of(self.vector, feature_width(self.state.network, self.input_shape))
        return Metric(whitening(covariance, float(shrinkage)).float(), self.state.head)

    @property
    def logits_of(self) -> LogitsOf | None:
        """The shared head, of `features`; None where there is none."""
        return self.state.head if self.metric is None else self.metric.head

    def prepare(self) -> "TrainedModel":
        """Build the network, so that a model that does not fit is refused before data are read; raises as `state`."""
        _ = self.state
        return self

    def require_room(self, samples: int, classes: int) -> None:
        """Make sure that this machine holds a classifier of so many samples and classes; MemoryLimitError where not."""
        work = Workload(samples, classes)
        needs = client_needs(self.settings, self.input_shape, len(self.class_names), work)
        require_memory(needs, MemoryLimit.of_machine())

    def features(self, inputs: np.ndarray) -> Tensor:
        """Features of raw inputs, in batches.

        Parameters
        ----------
        inputs : uint8 or float32 [N, C, H, W], or float32 [N, D]

        Returns
        -------
        Tensor [N, d]
        """
        split = Split(inputs, np.zeros(len(inputs), dtype=np.int64))
        return self._in_metric(compute_features(self.state.network, normalised(split, self.mean, self.std).inputs))

    def features_one_by_one(self, inputs: np.ndarray) -> Tensor:
        """The same, each sample alone: its features are then the same bits, whichever samples come along.

        The last bits of a matrix product depend on the number of its rows.
        """
        network = self.state.network
        split = Split(inputs, np.zeros(len(inputs), dtype=np.int64))
        ready = normalised(split, self.mean, self.std).inputs
        return torch.cat([self._in_metric(compute_features(network, row[None].clone())) for row in ready])

    def _in_metric(self, features: Tensor) -> Tensor:
        return features if self.metric is None else self.metric(features)


def _whitens(settings: Settings) -> bool:
    return settings.method in METHODS and METHODS[settings.method].whitens


def _of_data_set(settings: Settings, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    try:
        dataset = load_dataset(settings.dataset, seed=settings.seed)  # not from a folder that another machine names
    except PFedGPError as error:
        raise ArtefactError(
            f"The model does not hold the normalisation of its inputs, and that of its data set {settings.dataset!r} "
            f"cannot be had ({error}) Train with this version, whose models hold it."
        ) from error
    if dataset.input_shape != shape:
        raise ArtefactError(
            f"The model takes inputs of shape {shape}, its data set {settings.dataset!r} has {dataset.input_shape}: "
            "give a model that holds its normalisation, as those of this version do."
        )
    return dataset.mean, dataset.std
