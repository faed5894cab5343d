"""What has left a site up to now: updates and evaluations by run, and what they cost; booked before they leave."""

import importlib
import importlib.util
import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from pfedgp_core.checks import count
from pfedgp_core.errors import PFedGPError, PolicyError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.regular import MalformedError, decoding, one_line
from pfedgp_core.files.whole import write_whole
from pfedgp_core.learning.privacy import ACCOUNTANT, SENSITIVITY
from pfedgp_core.policy.site_policy import FOLDER

__all__ = ["FILE", "Ledger"]

FILE = "ledger.json"
_SCHEMA = 2  # 1: without evaluations


@dataclass
class Ledger:
    """Counts of updates and evaluations.

    Attributes
    ----------
    path : Path
    updates, evaluations : dict of str to int
        By hash of the run's settings.
    noises : dict of str to int
        By the multiplier of the noise as a text; ``"0.0"`` counts those without any.
    """

    path: Path
    updates: dict[str, int] = field(default_factory=dict)
    noises: dict[str, int] = field(default_factory=dict)
    evaluations: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, state: Path) -> "Ledger":
        """Read the ledger of a site's state folder; empty where there is none yet.

        Raises
        ------
        PolicyError
            It cannot be read: nothing may leave then, as nobody knows what has left.
        """
        path = state / FOLDER / FILE
        if not path.exists() and not path.is_symlink():
            return cls(path)
        try:
            with decoding(path):
                content = read_object(path)
                if (version := count(content.get("schema_version"))) not in (1, _SCHEMA):
                    raise MalformedError("it is of another version")
                updates = {key: count(n) for key, n in content["updates"].items()}
                noises = {str(_noise(key)): count(n) for key, n in content["noises"].items()}
                evaluated = content.get("evaluations", {}) if version == 1 else content["evaluations"]
                evaluations = {key: count(n) for key, n in evaluated.items()}
        except PFedGPError as error:
            raise PolicyError(
                f"{path} cannot be used ({one_line(error)}), so nobody knows what has left and everything is refused: "
                "restore the file."
            ) from error
        return cls(path, updates, noises, evaluations)

    def epsilon(self, delta: float, another: float = 0.0, times: int = 0) -> float:
        """The epsilon at `delta` of all updates, and of `times` more with the noise `another`.

        Infinity where one of them had no noise.

        Raises
        ------
        PolicyError
            The package that computes it is not installed.
        """
        counts = [(_noise(key), n) for key, n in self.noises.items() if n]
        counts += [(another, times)] if times else []
        if not counts:
            return 0.0
        if any(noise == 0 for noise, _ in counts):
            return math.inf
        if importlib.util.find_spec(ACCOUNTANT) is None:
            raise PolicyError("max-epsilon needs the package dp-accounting here: pip install 'pfedgp[privacy]'.")
        # Gaussian mechanisms compose to one whose inverse variance is the sum of theirs.
        precision = sum(n * (SENSITIVITY / noise) ** 2 for noise, n in counts)
        return float(importlib.import_module(ACCOUNTANT).get_epsilon_gaussian(1 / math.sqrt(precision), delta))

    def book(self, run: str, noise: float) -> None:
        """Count an update that is about to leave; it is on disk when this returns. ArtefactError where it cannot be."""
        self.updates[run] = self.updates.get(run, 0) + 1
        self.noises[str(float(noise))] = self.noises.get(str(float(noise)), 0) + 1
        self._write()

    def book_evaluation(self, run: str) -> None:
        """Count an evaluation that is about to leave, as `book` does an update."""
        self.evaluations[run] = self.evaluations.get(run, 0) + 1
        self._write()

    def _write(self) -> None:
        counts = {"updates": self.updates, "noises": self.noises, "evaluations": self.evaluations}
        write_whole(self.path, json.dumps({"schema_version": _SCHEMA, **counts}, indent=1) + "\n")


def _noise(text: str) -> float:
    noise = float(text)
    if not 0 <= noise <= 1e6 or str(noise) != text:  # two forms of one number would be counted once
        raise MalformedError(f"{text[:40]!r} is no noise")
    return noise
