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

from pfedgp_core.errors import (
    ArtefactError,
    DamagedStateError,
    MissingFileError,
    NonFiniteError,
    PFedGPError,
    UnreadableFileError,
)
from pfedgp_core.files.json_file import parse_object, read_object
from pfedgp_core.files.regular import MalformedError, one_line
from pfedgp_core.files.tensors import LONGEST_HEADER, bits_of, packed_tensors, read_tensors, same_bits
from server.run.files import explained, write_whole
from server.run.json_text import to_json

__all__ = ["MODEL_FILE", "MODEL_KEY", "holds_model", "load_model", "remove_model", "save_model"]

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
        The vector is none, the meta data are too long, or the folder cannot be written.
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
    content = packed_tensors({MODEL_KEY: np.ascontiguousarray(vector)}, header, f"The {folder.name} model")
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
        There is no model, or the path is that of a file, such as a bundle.
    DamagedStateError
        It is damaged.
    """
    if path.is_file():
        raise ArtefactError(
            f"{path} is a file: give the folder 'best' or 'final' of a run, or, if it is a bundle, give it to pfedgp "
            "onboard or check-data, with --model and --key."
        )
    file = path / MODEL_FILE
    try:
        tensors, header = read_tensors(file)
        vector = tensors.get(MODEL_KEY)
        if vector is None or "meta" not in header:
            raise MalformedError("it holds something else")
        meta = parse_object(header["meta"], LONGEST_HEADER)
        if vector.dtype != np.float32 or vector.ndim != 1 or header.get("sha256") != _checksum(vector):
            raise MalformedError("checksum differs")
    except MissingFileError as error:
        raise ArtefactError(f"There is no model in {path}: give the folder 'best' or 'final' of a run.") from error
    except (UnreadableFileError, MalformedError) as error:
        raise DamagedStateError(
            f"The model {file} is damaged ({one_line(error)}): restore it from a copy or run again."
        ) from error
    return vector, meta


def holds_model(folder: Path, vector: np.ndarray, model_round: int) -> bool:
    """Whether the folder has this model of this round, whole and with a readable description that agrees with it."""
    try:
        kept, meta = load_model(folder)
        readable = read_object(folder / META_FILE)
    except PFedGPError:
        return False
    return same_bits(kept, vector) and meta.get("round") == model_round and readable == meta


def remove_model(folder: Path) -> None:
    """Remove both files, where they are."""
    with explained(folder):
        for name in (MODEL_FILE, META_FILE):
            (folder / name).unlink(missing_ok=True)


def _checksum(vector: np.ndarray) -> str:
    return hashlib.sha256(bits_of(vector)).hexdigest()


def _ordered(content: bytes) -> bytes:
    """The same safetensors file with its header in alphabetical order, so that equal models are equal files."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header = {
        key: dict(sorted(header[key].items())) if key == "__metadata__" else header[key] for key in sorted(header)
    }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, memoryview(content)[end:]))
