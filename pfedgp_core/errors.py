"""Named errors. Each text is one sentence that names the value and the remedy."""

__all__ = [
    "AlteredModelError",
    "ArtefactError",
    "ConfigError",
    "DataError",
    "DeviceMemoryError",
    "NoSiteFolderError",
    "NonFiniteError",
    "NotPositiveDefiniteError",
    "NumericalError",
    "PFedGPError",
    "RunFailedError",
]


class PFedGPError(Exception):
    """Base of every error that a user can cause or has to know about."""


class ConfigError(PFedGPError):
    """A setting is unknown, out of range, or does not go together with another."""


class NoSiteFolderError(ConfigError):
    """A node that takes no published model, because its config names no folder for it."""


class DataError(PFedGPError):
    """Data that cannot be read, split or trained on."""


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


class RunFailedError(PFedGPError):
    """The federation ended without a usable result."""
