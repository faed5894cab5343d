"""What is kept between two looks at new samples: their scores and the capital, numbers only, in a file beside the site.

The scores of the site's own samples are not in it. They are computed anew, so that nothing of a forgotten sample stays.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pfedgp_core.checks import MALFORMED, finite, text
from pfedgp_core.errors import DamagedStateError, MissingFileError, UnreadableFileError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.private import as_private
from pfedgp_core.files.regular import MalformedError, read_regular
from pfedgp_core.files.whole import replacing
from pfedgp_core.site.drift import MOST
from pfedgp_core.site.site_files import checksum

__all__ = ["WatchState"]

FORMAT = "pfedgp-watch"
LARGEST = 1024**3  # bytes of the file
KINDS, STAKES = 2, 3


@dataclass(frozen=True, eq=False)
class WatchState:
    """Of one site.

    Attributes
    ----------
    data_sha256 : str
        Hash of the samples of the site that was watched with.
    seen : numpy.ndarray, float64 [2, m]
        Scores of the new samples so far.
    capital : numpy.ndarray, float64 [2, 3]
    highest : float
        Largest sum of the capital so far.
    """

    data_sha256: str
    seen: np.ndarray
    capital: np.ndarray
    highest: float

    def write(self, path: Path) -> None:
        """Replace the file whole; ArtefactError where it cannot be written."""
        content = {
            "format": FORMAT,
            "schema_version": 1,
            "data_sha256": self.data_sha256,
            "seen": self.seen.tolist(),
            "capital": self.capital.tolist(),
            "highest": self.highest,
        }
        content["checksum"] = checksum(content)
        with as_private(), replacing(path) as file:
            file.write((json.dumps(content) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> "WatchState | None":
        """What `write` wrote; None where there is no file.

        Raises
        ------
        DamagedStateError
            The file was changed or cannot be read.
        """
        try:
            about = parse_object(read_regular(path, LARGEST), LARGEST)
            if about.pop("checksum") != checksum(about) or about["format"] != FORMAT:
                raise MalformedError("it was changed after it was written")
            seen, capital = _numbers(about["seen"]), _numbers(about["capital"])
            if seen.ndim != 2 or len(seen) != KINDS or capital.shape != (KINDS, STAKES):
                raise MalformedError("its numbers have another shape")
            if (capital < 0).any() or capital.sum() > 2 * MOST:
                raise MalformedError("its capital is none")
            return cls(text(about["data_sha256"]), seen, capital, finite(about["highest"]))
        except MissingFileError:
            return None
        except (UnreadableFileError, *MALFORMED) as error:
            raise DamagedStateError(
                f"{path} is no state of pfedgp watch that is whole: delete it to begin again, or restore it."
            ) from error


def _numbers(rows: list[list[float]]) -> np.ndarray:
    """As an array; numpy alone would take texts and truth values for numbers."""
    return np.array([[finite(value) for value in row] for row in rows], float)
