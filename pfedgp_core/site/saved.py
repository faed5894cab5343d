"""A site's personal classifier on disk: a folder with all that prediction needs, and no raw input.

``site.safetensors``
    ``shared``: the federation's shared vector; ``mean``, ``std``: normalisation of the inputs; ``features``,
    ``labels``, ``digests``: the training samples (`site_samples`); ``omega.V``, ``weights.V``: draws, and weights of
    the means, of node V.
``site.json``
    Everything else that decides the classifier, readable: class names, tree, settings, kernel, temperature, counts,
    hashes of model and data, schema version. It holds hashes of the other file and of itself, so a change of either is
    noticed.
``samples.json``
    What the classifier does not depend on: ids of the samples and the site's history (`ledger`).
"""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as to_safetensors

from pfedgp_core.checks import MALFORMED
from pfedgp_core.data.tables.choice import AS_NAMED, TableChoice
from pfedgp_core.errors import (
    ArtefactError,
    ConfigError,
    DataError,
    PFedGPError,
)
from pfedgp_core.files.folder import write_folder
from pfedgp_core.files.regular import one_line
from pfedgp_core.files.state import kept
from pfedgp_core.files.tensors import parse_tensors
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.names import folded
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.description import check_parts
from pfedgp_core.site.history import Event
from pfedgp_core.site.ledger import LEDGER, ledger_text
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.site_files import (
    DESCRIPTION,
    FORMAT,
    SCHEMA,
    TENSORS,
    checksum,
    damaged,
)
from pfedgp_core.site.site_lock import recover_site
from pfedgp_core.site.site_reading import read_site
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Node, Tree
from pfedgp_core.tree.uncertainty import Prediction

__all__ = ["LABEL", "ROWS", "SCHEMA", "SavedSite", "is_site"]

LABEL = "label"  # the column of classes where nothing else is said, and of sites of former versions
ROWS = 256  # inputs at a time on their way through the network


@dataclass(frozen=True, eq=False)
class SavedSite:
    """A site's classifier together with the model it stands on.

    Attributes
    ----------
    name : str
    model : TrainedModel
    samples : SiteSamples
        Of training.
    classifier : PersonalClassifier
        On features; its labels are the federation's class ids.
    columns : tuple of str
        Names of the features of a table at the site, in the model's order; empty for other data.
    choice : TableChoice
        Which columns of the site's tables are features.
    history : tuple of Event
        What was done to the site since it was made.
    label_column, group_column : str
        What names the class, and the group, of each sample in the site's data; the second may be empty.

    Examples
    --------
    >>> site = SavedSite.load("ward-3")
    >>> site.predict_proba(inputs)      # uint8 images [N, C, H, W] or float32 vectors [N, D]
    """

    name: str
    model: TrainedModel
    samples: SiteSamples
    classifier: PersonalClassifier
    columns: tuple[str, ...] = ()
    choice: TableChoice = AS_NAMED
    history: tuple[Event, ...] = ()
    label_column: str = LABEL
    group_column: str = ""

    @classmethod
    def fit(
        cls,
        name: str,
        model: TrainedModel,
        samples: SiteSamples,
        columns: tuple[str, ...] = (),
        choice: TableChoice = AS_NAMED,
        history: tuple[Event, ...] = (),
        label_column: str = LABEL,
        group_column: str = "",
    ) -> "SavedSite":
        """Build the tree and draw omega at every node; decided by model, samples and the run's seed alone."""
        state, settings = model.state, model.settings
        model.require_room(len(samples), len(samples.counts(model.class_names)))
        stream = Stream(settings.seed, "site")
        classifier = PersonalClassifier(settings, stream, state.inducing, state.kernel(settings), model.logits_of)
        classifier.fit(torch.from_numpy(samples.features), torch.from_numpy(samples.labels))
        choice = replace(choice, encoding="", strict=False)
        return cls(name, model, samples, classifier, columns, choice, history, label_column, group_column)

    def refit(self, samples: SiteSamples, event: Event) -> "SavedSite":
        """The same site with other samples: bit for bit the one that was made from these at once."""
        history = (*self.history, event)
        names = self.label_column, self.group_column
        return self.fit(self.name, self.model, samples, self.columns, self.choice, history, *names)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the site's classes, the columns of `predict_proba`."""
        return tuple(self.model.class_names[i] for i in self.classifier.classes_.tolist())

    @property
    def took_part(self) -> bool | None:
        """True where a client of the site's name trained or selected the model; None where its name does not tell."""
        return True if folded(self.name) in map(folded, self.model.participants) else None

    def predict_proba(self, inputs: np.ndarray) -> np.ndarray:
        """Class probabilities at the model's temperature, float64 [N, k], columns in the order of `class_names`."""
        return self.predict(inputs).probabilities

    def predict(self, inputs: np.ndarray, temperature: float | None = None) -> Prediction:
        """Class probabilities and their uncertainty.

        Parameters
        ----------
        inputs : uint8 or float32 [N, C, H, W], or float32 [N, D]
        temperature : float, optional
            Of the probabilities; default: that of the model. 1 gives those of the posterior itself.

        Raises
        ------
        DataError
            The inputs have another shape than the model's.
        ConfigError
            The temperature is not a positive finite number.
        """
        return self.predict_features(self.features(inputs), temperature)

    def features(self, inputs: np.ndarray) -> torch.Tensor:
        """Features of raw inputs under the model, [N, d], as `predict` takes them; raises as it does."""
        if inputs.shape[1:] != self.model.input_shape:
            raise DataError(
                f"The inputs have shape {inputs.shape[1:]}, and the model takes {self.model.input_shape}: give inputs "
                "of that shape."
            )
        starts = range(0, max(len(inputs), 1), ROWS)
        return torch.cat([self.model.features(inputs[start : start + ROWS]) for start in starts])

    def predict_features(self, features: torch.Tensor, temperature: float | None = None) -> Prediction:
        """The same for inputs whose features [N, d] are known (`TrainedModel.features`)."""
        prediction = self.classifier.predict_with_uncertainty(features)
        return prediction.at(self.model.temperature if temperature is None else temperature)

    def tensor_bytes(self) -> bytes:
        """The content of ``site.safetensors``."""
        tensors = {
            "shared": self.model.vector,
            "mean": self.model.mean,
            "std": self.model.std,
            "features": self.samples.features,
            "labels": self.samples.labels,
            "digests": self.samples.digests,
        }
        for i, (omega, weights) in enumerate(zip(self.classifier.omegas_, self.classifier.weights_, strict=True)):
            tensors |= {f"omega.{i}": omega.numpy(), f"weights.{i}": weights.numpy()}
        return to_safetensors({key: np.ascontiguousarray(tensor) for key, tensor in tensors.items()})

    def save(self, path: str | Path, replace: bool = False) -> None:
        """Write the folder whole; see `write_folder`.

        Raises
        ------
        ArtefactError
            The folder exists and `replace` is False, or it cannot be written; what was there is still there.
        """
        content = self.tensor_bytes()
        description = self._describe() | {"tensors_sha256": hashlib.sha256(content).hexdigest()}
        description["checksum"] = checksum(description)
        text = json.dumps(description, indent=2, ensure_ascii=False) + "\n"
        ledger = ledger_text(self.samples.sha256, self.samples.origins, self.history)
        write_folder(Path(path), {TENSORS: content, DESCRIPTION: text.encode(), LEDGER: ledger}, replace)

    @classmethod
    def load(cls, path: str | Path, allowed: tuple[str, ...] = ()) -> "SavedSite":
        """Read what `save` wrote; its model may name a network that is `allowed`, an import path.

        Raises
        ------
        ArtefactError
            There is no such site, it is damaged or was changed, or it is of a later version.
        ConfigError
            This installation lacks a setting or network of the model, or the network is code that is not allowed.
        """
        path = Path(path).expanduser()
        description, content, origins, history = read_site(path)
        try:
            return cls._from_parts(description, parse_tensors(content), allowed, origins, history)
        except ConfigError:
            raise  # it names a setting or network that this installation does not know
        except (PFedGPError, RuntimeError, *MALFORMED) as error:
            raise damaged(path, one_line(error)) from error

    def _describe(self) -> dict[str, Any]:
        model, classifier = self.model, self.classifier
        kernel = classifier.kernel
        return {
            "format": FORMAT,
            "schema_version": SCHEMA,
            "name": self.name,
            "class_names": list(model.class_names),
            "input_shape": list(model.input_shape),
            "columns": list(self.columns),
            "model_columns": list(model.columns),
            "value_range": model.value_range,
            "table": self.choice.to_config(),
            "label_column": self.label_column,
            "group_column": self.group_column,
            "samples": len(self.samples),
            "counts": self.samples.counts(model.class_names),
            "model_sha256": model.sha256,
            "data_sha256": self.samples.sha256,
            "classes": classifier.classes_.tolist(),
            "tree": [[list(node.left), list(node.right)] for node in classifier.tree_.nodes],
            "kernel": {
                "name": model.settings.gp.kernel,
                "output_scale": float(kernel.output_scale),
                "length_scale": float(kernel.length_scale),
            },
            "counters": dict(classifier.counters_),
            "participants": list(model.participants),
            "took_part": self.took_part,
            "temperature": model.temperature,
            "temperature_spread": model.temperature_spread,
            "settings": model.settings.to_run_config(),
        }

    @classmethod
    def _from_parts(
        cls,
        about: dict[str, Any],
        tensors: dict[str, np.ndarray],
        allowed: tuple[str, ...],
        origins: tuple[Origin, ...],
        history: tuple[Event, ...],
    ) -> "SavedSite":
        check_parts(about, tensors)
        model = TrainedModel.from_site(about, tensors, allowed)
        samples = SiteSamples(tensors["features"], tensors["labels"], tensors["digests"], origins)
        for what, found, noted in (("model", model, about["model_sha256"]), ("data", samples, about["data_sha256"])):
            if found.sha256 != noted:
                raise ArtefactError(f"the {what} has the hash {found.sha256[:12]}, noted is {str(noted)[:12]}")
        nodes = [Node(i, tuple(left), tuple(right)) for i, (left, right) in enumerate(about["tree"])]
        tree = Tree(tuple(range(len(about["classes"]))), tuple(nodes))
        scales = about["kernel"]
        kernel = make_kernel(scales["name"], scales["output_scale"], scales["length_scale"])
        inducing, head = model.state.inducing, model.logits_of
        classifier = PersonalClassifier(model.settings, inducing=inducing, kernel=kernel, logits_of=head).restore(
            torch.from_numpy(samples.features),
            samples.labels,
            about["classes"],
            tree,
            *([torch.from_numpy(tensors[f"{key}.{i}"]) for i in range(len(nodes))] for key in ("omega", "weights")),
        )
        choice = replace(TableChoice.of(about.get("table", {})), strict=False)  # former versions have none
        read = choice, history, about.get("label_column", LABEL), about.get("group_column", "")
        return cls(about["name"], model, samples, classifier, tuple(about["columns"]), *read)


def is_site(path: Path) -> bool:
    """Whether the folder is a saved site, by its looks."""
    recover_site(path)
    with kept(path):
        return (path / DESCRIPTION).is_file() and (path / TENSORS).is_file()
