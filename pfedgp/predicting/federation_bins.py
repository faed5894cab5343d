"""The confidence bins of a whole federation, which its clients summed at the end of a run: ``calibration.json``."""

import math
from dataclasses import dataclass
from pathlib import Path

from pfedgp_core.checks import MALFORMED
from pfedgp_core.errors import ArtefactError, ConfigError, DataError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["FederationBins"]


@dataclass(frozen=True)
class FederationBins:
    """Sums at one temperature.

    Attributes
    ----------
    tested : MetricSums
        Of the test data, which chose nothing.
    reference : MetricSums
        Of the validation data, which chose the best model and the temperature.
    """

    tested: MetricSums
    reference: MetricSums

    @classmethod
    def read(cls, path: Path, temperature: float) -> "FederationBins":
        """From a run's ``calibration.json``.

        Raises
        ------
        ArtefactError
            There is no such file, or it is something else.
        ConfigError
            The run has no sums at this temperature.
        """
        try:
            rows = read_object(path.expanduser())["temperatures"]
            grid = [float(row["temperature"]) for row in rows]
            places = [i for i, t in enumerate(grid) if math.isclose(t, temperature, rel_tol=1e-9)]
            if places:
                row = rows[places[0]]
                return cls(MetricSums.from_dict(row["test"]), MetricSums.from_dict(row["validation"]))
        except UnreadableFileError as error:
            text = f"{path} cannot be read ({error.reason}): give the calibration.json of a run."
            raise ArtefactError(text) from error
        except (DataError, *MALFORMED) as error:
            raise ArtefactError(f"{path} is no calibration.json of a run: give the one in the run's folder.") from error
        listed = ", ".join(f"{t:g}" for t in grid)
        raise ConfigError(
            f"{path} has no sums at temperature {temperature:g}: give --temperature with one of {listed}, or labelled "
            "samples of this site with --calibration."
        )
