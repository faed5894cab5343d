"""The confidence bins of a whole federation, which its clients summed at the end of a run: ``calibration.json``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        Of the validation data, which chose the best model and the temperature. A run keeps them at the paper's
        temperatures alone; those at the nearest one stand for the model's, because they only say where the order of
        thresholds begins.
    """

    tested: MetricSums
    reference: MetricSums

    @classmethod
    def read(cls, path: Path, temperature: float) -> "FederationBins":
        """From a run's ``calibration.json``, at the model's temperature or at one of the paper's grid.

        Raises
        ------
        ArtefactError
            There is no such file, or it is something else.
        ConfigError
            The run has no sums at this temperature.
        """
        try:
            content = read_object(path.expanduser())
            rows, own = content["temperatures"], content.get("model_temperature")
            grid = [float(row["temperature"]) for row in rows]
            at_model = own is not None and _same(float(own), temperature)
            row = _nearest(rows, temperature)
            if at_model or _same(float(row["temperature"]), temperature):
                tested = content["at_model_temperature"] if at_model else row["test"]
                return cls(MetricSums.from_dict(tested), MetricSums.from_dict(row["validation"]))
        except UnreadableFileError as error:
            text = f"{path} cannot be read ({error.reason}): give the calibration.json of a run."
            raise ArtefactError(text) from error
        except (DataError, *MALFORMED) as error:
            raise ArtefactError(f"{path} is no calibration.json of a run: give the one in the run's folder.") from error
        own_one = [] if own is None else [f"{float(own):g} (the model's)"]
        listed = ", ".join([*own_one, *(f"{t:g}" for t in grid)])
        raise ConfigError(
            f"{path} has no sums at temperature {temperature:g}: give --temperature with one of {listed}, or labelled "
            "samples of this site with --calibration."
        )


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)


def _nearest(rows: Sequence[Mapping[str, Any]], temperature: float) -> Mapping[str, Any]:
    """By the ratio of temperatures."""
    return min(rows, key=lambda row: abs(math.log(float(row["temperature"]) / temperature)))
