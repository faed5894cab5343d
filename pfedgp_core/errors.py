"""Named errors. Each text is one sentence that names the value and the remedy."""

from collections.abc import Mapping
from pathlib import Path

__all__ = [
    "AlteredModelError",
    "ArtefactError",
    "ConfigError",
    "DamagedStateError",
    "DataError",
    "DeviceMemoryError",
    "MemoryLimitError",
    "MissingFileError",
    "NoSiteFolderError",
    "NonFiniteError",
    "NotPositiveDefiniteError",
    "NumericalError",
    "PFedGPError",
    "PolicyError",
    "RunFailedError",
    "UnreadableFileError",
]


class PFedGPError(Exception):
    """Base of every error that a user can cause or has to know about."""


class ConfigError(PFedGPError):
    """A setting is unknown, out of range, or does not go together with another."""


class NoSiteFolderError(ConfigError):
    """A node that takes no published model, because its config names no folder for it."""


class MemoryLimitError(ConfigError):
    """Settings and data that need more memory than may be used."""


class DataError(PFedGPError):
    """Data that cannot be read, split or trained on."""


class UnreadableFileError(DataError):
    """A file that cannot be read, or does not hold what its kind asks for.

    Parameters
    ----------
    path : Path
    reason : str
        In words that fit into brackets, for callers that have a better remedy.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} cannot be read ({reason}): check the path and its rights, or restore the file.")
        self.path, self.reason = path, reason


class MissingFileError(UnreadableFileError):
    """There is no file of that name."""


class AlteredModelError(DataError):
    """A published model that is not the one that was sent."""


class NumericalError(PFedGPError):
    """A computation left the range in which its result means anything."""


class DeviceMemoryError(PFedGPError):
    """A GPU whose memory is full."""


class NotPositiveDefiniteError(NumericalError):
    """A matrix has no Cholesky factor, even with jitter and in float64."""


class NonFiniteError(NumericalError):
    """NaN or infinity where a finite number is needed."""


class ArtefactError(PFedGPError):
    """A file or folder that cannot be written, or does not hold what it should."""


class DamagedStateError(ArtefactError):
    """What pFedGP keeps itself, such as a checkpoint, a run's folder or a saved site, is not what was written."""


class PolicyError(PFedGPError):
    """A site's own policy forbids what a server asks for, or cannot be read, which forbids everything."""


class RunFailedError(PFedGPError):
    """The federation ended without a usable result.

    Attributes
    ----------
    told : dict of str to str
        What single sites may read of it, by their names: nothing of other sites' data that they should not know.
    """

    def __init__(self, text: str, told: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.told = dict(told or {})
