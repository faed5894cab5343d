"""The trained model of a run, as the commands of a site take it."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from pfedgp.bundles.download import fetched, is_address
from pfedgp.bundles.signing import verified
from pfedgp_core.errors import ArtefactError, ConfigError, DamagedStateError, UnreadableFileError
from pfedgp_core.files.keys import read_verifying_key
from pfedgp_core.files.regular import read_regular
from pfedgp_core.methods.make import require_onboards
from pfedgp_core.site.trained_model import TrainedModel
from server.run.model_file import MODEL_FILE, load_model

__all__ = ["read_bundle", "read_model", "read_whole_model"]

LARGEST = 16 * 1024**3  # bytes of a model


def read_model(path: Path, allowed: Sequence[str] = ()) -> tuple[TrainedModel, bool]:
    """Load the model in the folder ``best`` or ``final`` of a run.

    Parameters
    ----------
    path : Path
    allowed : sequence of str
        Import paths that the operator lets the model name as its network.

    Returns
    -------
    TrainedModel, bool
        The model, and whether its run has chosen a temperature for it.

    Raises
    ------
    ArtefactError
        There is no model, it is damaged, or does not say what it is for: given to a command, it is no state.
    ConfigError
        It is of a regression, or of a method that gives a newcomer no classifier.
    """
    try:
        vector, meta = load_model(path.expanduser())
    except DamagedStateError as error:
        raise ArtefactError(str(error)) from error
    model = TrainedModel.from_artefact(vector, meta, tuple(allowed))
    require_onboards(model.settings)
    return model, "temperature" in meta


def read_bundle(place: str, key: Path, allowed: Sequence[str] = ()) -> tuple[TrainedModel, bool]:
    """Load the model of a bundle, once its signature is known to be right.

    Parameters
    ----------
    place : str
        Path of a file, or its address on a web server.
    key : Path
        Public key of the one who signs.
    allowed : sequence of str
        As for `read_model`.

    Raises
    ------
    ArtefactError
        There is no bundle, it is not signed with this key, was changed or cut, or holds no model.
    ConfigError
        The key is none, or the model is of no use for a newcomer.
    """
    try:
        public = read_verifying_key(key.expanduser())
    except UnreadableFileError as error:
        raise ConfigError(
            f"--key {key} cannot verify ({error.reason}): give the public key of the one who signs the bundle."
        ) from error
    if is_address(place):
        with fetched(place) as path:
            content = verified(path, public, place)
    else:
        content = verified(Path(place).expanduser(), public, place)
    with tempfile.TemporaryDirectory(prefix="pfedgp-bundle-") as folder:
        (Path(folder) / MODEL_FILE).write_bytes(content)
        try:
            return read_model(Path(folder), allowed)
        except ArtefactError as error:
            raise ArtefactError(
                f"The bundle {place} is signed and holds no model that this version reads: ask its sender for another."
            ) from error


def read_whole_model(folder: Path) -> tuple[bytes, TrainedModel]:
    """The file of a run's model as it is, and the model that it holds. Raises as `read_model`."""
    model, _ = read_model(folder)  # its network is not built, so that code that it names is not run
    return read_regular(folder / MODEL_FILE, LARGEST), model
