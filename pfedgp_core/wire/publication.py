"""Messages of a publication: a trained model on its way to the sites, and their answers.

The request carries the flat shared vector, and in its config group the model's description as JSON and a hash of both.
The answer names the site, counts its samples and lists its classes; no sample, feature, prediction or path.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pfedgp_core.checks import COUNT_LIMIT, MALFORMED, SECONDS_LIMIT, count, finite, text
from pfedgp_core.errors import AlteredModelError, DataError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.names import MODEL, MODEL_HASH, ONBOARDED, Fields

__all__ = [
    "CREATED",
    "OUTCOMES",
    "REFRESHED",
    "UNCHANGED",
    "OnboardReply",
    "description_hash",
    "publication",
    "published_model",
]

CREATED, REFRESHED, UNCHANGED = "created", "refreshed", "unchanged"
OUTCOMES = (CREATED, REFRESHED, UNCHANGED)  # what was done to the site's folder
ANSWER_LIMIT = 16 * 1024 * 1024  # characters


def publication(model: TrainedModel) -> Fields:
    """Describe a model for the config group of a request; its vector travels beside it.

    Parameters
    ----------
    model : TrainedModel

    Returns
    -------
    dict
        Class names, shape of an input, normalisation, participants, temperature with its spread, columns, range of
        values and settings as JSON, and the hash.
    """
    text = json.dumps(
        {
            "settings": model.settings.to_run_config(),
            "class_names": list(model.class_names),
            "input_shape": list(model.input_shape),
            "normalisation": {"mean": model.mean.tolist(), "std": model.std.tolist()},
            "clients": list(model.participants),
            "temperature": model.temperature,
            "temperature_spread": model.temperature_spread,
            "columns": list(model.columns),
            "value_range": model.value_range,
        }
    )
    return {MODEL: text, MODEL_HASH: description_hash(text, model.vector)}


def published_model(fields: Mapping[str, Any], vector: np.ndarray | None) -> TrainedModel:
    """Read and check what `publication` described. Nothing that the server names is imported, opened or built.

    Raises
    ------
    AlteredModelError
        The vector or the description is not what the server hashed.
    ArtefactError, ConfigError, DataError
        The description lacks something, or does not fit this version. Whether the vector fits shows when the model's
        ``state`` is made.
    """
    text, noted = fields.get(MODEL), fields.get(MODEL_HASH)
    if not isinstance(text, str) or not isinstance(noted, str) or vector is None:
        raise DataError("The server's request carries no model: run the same pfedgp version on both sides.")
    if description_hash(text, vector) != noted:
        raise AlteredModelError("The published model changed on its way: its hash differs; publish it again.")
    about = _description(text)
    if about.get("normalisation") is None:  # no data set that the server names stands in
        raise DataError("The published model lacks its normalisation: run the same pfedgp version on both sides.")
    return TrainedModel.from_artefact(vector, about)


@dataclass(frozen=True)
class OnboardReply:
    """What a site tells about its onboarding.

    Attributes
    ----------
    name : str
        The client's name; empty where its node was given none.
    samples : int
        Training samples of the classifier.
    classes : tuple of str
        The site's own classes.
    took_part : bool or None
        Whether the site's data trained or selected the model; None where its name does not tell.
    outcome : {"created", "refreshed", "unchanged"}
    model_sha256 : str
        Hash of the shared vector that the site stands on now.
    seconds : float
    """

    name: str
    samples: int
    classes: tuple[str, ...]
    took_part: bool | None
    outcome: str
    model_sha256: str
    seconds: float

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        return {ONBOARDED: json.dumps(asdict(self))}, {}

    @classmethod
    def from_wire(cls, config: Mapping[str, Any], metrics: Mapping[str, Any], model: TrainedModel) -> "OnboardReply":
        """Read what ``to_wire`` wrote, and check that it can be an answer to the publication of `model`.

        Raises
        ------
        DataError
            The reason alone.
        """
        try:
            fields = parse_object(config[ONBOARDED], ANSWER_LIMIT)
            reply = cls(
                name=text(fields["name"]),
                samples=count(fields["samples"]),
                classes=tuple(text(name) for name in fields["classes"]),
                took_part=True if fields["took_part"] is True else None,
                outcome=text(fields["outcome"]),
                model_sha256=text(fields["model_sha256"]),
                seconds=finite(fields["seconds"]),
            )
        except MALFORMED as error:
            raise DataError(f"malformed answer ({type(error).__name__})") from None
        if reply.name and (fault := name_fault(reply.name, NAME_LIMIT)):
            raise DataError(f"an answer with a client name that {fault}")
        if reply.model_sha256 != model.sha256:
            raise DataError("the site stands on another model")
        plausible = 0 < reply.samples <= COUNT_LIMIT and 0 <= reply.seconds <= SECONDS_LIMIT
        known = 0 < len(reply.classes) <= len(model.class_names) and set(reply.classes) <= set(model.class_names)
        if not plausible or not known or reply.outcome not in OUTCOMES:
            raise DataError("an answer that contradicts itself or the model")
        return reply


def _description(text: str) -> dict[str, Any]:
    try:
        return parse_object(text)
    except MalformedError as error:
        raise DataError(f"The published model's description cannot be read ({error}): publish it again.") from error


def description_hash(text: str, vector: np.ndarray) -> str:
    """Hash of description and vector, hex."""
    digest = hashlib.sha256(text.encode() + b"\0")
    digest.update(str(vector.dtype).encode() + np.ascontiguousarray(vector).tobytes())
    return digest.hexdigest()
