"""What the inputs and classes of a federation are; fixed before round 1 and sent with every request."""

import json
from dataclasses import asdict, dataclass

from pfedgp_core.errors import DataError

__all__ = ["DataSpec"]


@dataclass(frozen=True)
class DataSpec:
    """What all sites' data have in common, so that one shared network fits all of them.

    Attributes
    ----------
    class_names : tuple of str
        All classes of the federation, by id; empty in regression.
    input_shape : tuple of int
        Shape of one input, (C, H, W) or (D,).
    mean, std : tuple of float
        Normalisation of the inputs, per channel or feature.
    """

    class_names: tuple[str, ...]
    input_shape: tuple[int, ...]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def to_json(self) -> str:
        """Return the fields as one JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "DataSpec":
        """Read what ``to_json`` wrote.

        Raises
        ------
        DataError
            It is something else.
        """
        try:
            fields = json.loads(text)
            return cls(
                tuple(str(name) for name in fields["class_names"]),
                tuple(int(size) for size in fields["input_shape"]),
                tuple(float(x) for x in fields["mean"]),
                tuple(float(x) for x in fields["std"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"malformed description of the federation's data ({type(error).__name__})") from None
