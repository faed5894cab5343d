"""A model of a run on disk: the shared vector, and what is needed to use it.

``model.safetensors``
    The vector under the key ``shared``; its header holds the description and a checksum of the vector.
``meta.json``
    The description once more, for people; programs read the header.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from pfedgp_core.errors import ArtefactError, NonFiniteError
from server.run.files import explained, write_whole
from server.run.json_text import to_json

__all__ = ["MODEL_KEY", "holds_model", "load_model", "remove_model", "save_model"]

MODEL_KEY = "shared"
MODEL_FILE, META_FILE = "model.safetensors", "meta.json"


def save_model(folder: Path, vector: np.ndarray, meta: Mapping[str, Any]) -> None:
    """Replace the model in a folder in one step; a crash leaves the former model whole.

    Parameters
    ----------
    folder : Path
        ``best`` or ``final`` of a run; made if it is not there.
    vector : float32 [P]
        The shared vector.
    meta : mapping
        What a reader needs to use the vector (round, class names, network, ...), JSON values only.

    Raises
    ------
    ArtefactError
        The vector is none, or the folder cannot be written.
    NonFiniteError
        The vector or the meta data hold NaN or infinity.
    """
    if vector.dtype != np.float32 or vector.ndim != 1:
        raise ArtefactError(f"The {folder.name} model is {vector.dtype} {list(vector.shape)}: give a float32 vector.")
    if not np.isfinite(vector).all():
        raise NonFiniteError(f"The {folder.name} model holds NaN or infinity, so it is not saved; lower learning-rate.")
    # The header travels inside the model, so no crash can leave a model beside the description of another.
    header = {"meta": to_json(meta, f"meta of the {folder.name} model"), "sha256": _checksum(vector)}
    with explained(folder):
        folder.mkdir(exist_ok=True)
    content = to_safetensors({MODEL_KEY: vector.copy()}, metadata=header)
    write_whole(folder / MODEL_FILE, _ordered(content))
    write_whole(folder / META_FILE, json.dumps(json.loads(header["meta"]), indent=2) + "\n")


def load_model(path: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : Path
        The folder ``best`` or ``final`` of a run.

    Returns
    -------
    vector : float32 [P]
    meta : dict

    Raises
    ------
    ArtefactError
        There is no model, or it is damaged.
    """
    file = path / MODEL_FILE
    if not file.is_file():
        raise ArtefactError(f"There is no model in {path}: give the folder 'best' or 'final' of a run.")
    try:
        with safe_open(file, framework="numpy") as model:
            vector, header = model.get_tensor(MODEL_KEY), model.metadata() or {}
        meta = json.loads(header["meta"])
        intact = vector.dtype == np.float32 and vector.ndim == 1 and header["sha256"] == _checksum(vector)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ArtefactError(f"The model {file} is damaged ({error}): restore it from a copy or run again.") from error
    if not intact or not isinstance(meta, dict):
        raise ArtefactError(f"The model {file} is damaged (checksum differs): restore it from a copy or run again.")
    return vector, meta


def holds_model(folder: Path, vector: np.ndarray, model_round: int) -> bool:
    """Whether the folder has this model of this round, whole and with a readable description that agrees with it."""
    try:
        kept, meta = load_model(folder)
        readable = json.loads((folder / META_FILE).read_text(encoding="utf-8"))
    except (ArtefactError, OSError, ValueError):
        return False
    return kept.tobytes() == vector.tobytes() and meta.get("round") == model_round and readable == meta


def remove_model(folder: Path) -> None:
    """Remove both files, where they are."""
    with explained(folder):
        for name in (MODEL_FILE, META_FILE):
            (folder / name).unlink(missing_ok=True)


def _checksum(vector: np.ndarray) -> str:
    return hashlib.sha256(vector.tobytes()).hexdigest()


def _ordered(content: bytes) -> bytes:
    """The same safetensors file with its header in alphabetical order, so that equal models are equal files."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header = {
        key: dict(sorted(header[key].items())) if key == "__metadata__" else header[key] for key in sorted(header)
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]
