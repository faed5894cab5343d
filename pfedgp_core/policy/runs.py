"""A run as a site knows it: the hash of its settings, and which of them the site has approved."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfedgp_core.checks import text
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, PFedGPError, PolicyError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.regular import MalformedError, decoding, one_line
from pfedgp_core.files.whole import write_whole
from pfedgp_core.policy.site_policy import FOLDER

__all__ = ["SHOWN", "Runs", "run_hash"]

SHOWN = 16  # characters of a hash by which a run is named
SHORTEST = 8  # characters that name one on the command line
MOST_ASKED = 20  # runs without approval that are kept for the operator to see
LONGEST = 100_000  # characters of the settings of such a run
APPROVED, ASKED = "approved.json", "asked.json"
_SCHEMA = 1


def run_hash(settings: Settings) -> str:
    """Hash of all effective settings, in hexadecimal; one value changed is another run."""
    return hashlib.sha256(json.dumps(settings.to_run_config(), sort_keys=True).encode()).hexdigest()


@dataclass
class Runs:
    """The runs that a site has approved, and those that asked for it in vain.

    Attributes
    ----------
    folder : Path
        Of the policy.
    approved : dict
        By hash: ``time``, ``by`` and the settings that were shown.
    asked : dict
        By hash, oldest first: ``time``, ``run`` (Flower's number) and ``settings``.
    """

    folder: Path
    approved: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, state: Path) -> "Runs":
        """Read both files of a site's state folder.

        Raises
        ------
        PolicyError
            A file that is there cannot be read: nothing is approved then.
        """
        folder = state / FOLDER
        return cls(folder, *(_entries(folder / name) for name in (APPROVED, ASKED)))

    def note_asked(self, settings: Settings, run: str) -> None:
        """Keep a run for the operator to see; the oldest of many is dropped, and one of huge settings is not kept."""
        key, flat = run_hash(settings), settings.to_run_config()
        if key in self.asked or len(json.dumps(flat)) > LONGEST:
            return
        self.asked[key] = {"time": _now(), "run": run, "settings": flat}
        for oldest in list(self.asked)[: max(0, len(self.asked) - MOST_ASKED)]:
            del self.asked[oldest]
        self._write(ASKED, self.asked)

    def approve(self, key: str, by: str) -> None:
        """Let a run that asked take part from now on."""
        self.approved[key] = {"time": _now(), "by": by, "settings": self.asked[key]["settings"]}
        self._write(APPROVED, self.approved)

    def revoke(self, key: str) -> None:
        """Refuse an approved run from now on."""
        entry = self.approved.pop(key)
        self._write(APPROVED, self.approved)
        if key not in self.asked:
            self.asked[key] = {"time": _now(), "run": "", "settings": entry["settings"]}
            self._write(ASKED, self.asked)

    def find(self, name: str) -> str:
        """The hash of a run that is named by the start of its hash, or by Flower's number.

        Raises
        ------
        ConfigError
            No run or several have that name.
        """
        known = self.asked | self.approved
        found = [key for key in known if len(name) >= SHORTEST and key.startswith(name)]
        found += [key for key, entry in self.asked.items() if name and entry["run"] == name and key not in found]
        if len(found) != 1:
            listed = ", ".join(key[:SHOWN] for key in found or known) or "none has asked yet"
            raise ConfigError(f"{name!r} names {len(found) or 'no'} runs: give one of {listed}.")
        return found[0]

    def settings(self, key: str) -> Settings:
        """The settings of a run that is known here.

        Raises
        ------
        PolicyError
            They do not have the hash under which they are kept.
        """
        kept = (self.asked.get(key) or self.approved[key])["settings"]
        try:
            settings = Settings.from_run_config(kept)
        except (PFedGPError, TypeError) as error:
            raise PolicyError(f"The settings of run {key[:SHOWN]} in {self.folder} cannot be read: {error}") from error
        if run_hash(settings) != key:
            raise PolicyError(
                f"The settings of run {key[:SHOWN]} in {self.folder} are not those of its hash: remove {ASKED} there."
            )
        return settings

    def _write(self, name: str, entries: dict[str, dict[str, Any]]) -> None:
        write_whole(self.folder / name, json.dumps({"schema_version": _SCHEMA, "runs": entries}, indent=1) + "\n")


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        with decoding(path):
            content = read_object(path)
            if content.get("schema_version") != _SCHEMA or not isinstance(content.get("runs"), dict):
                raise MalformedError("it is no list of runs of this version")
            return {key: _entry(value) for key, value in content["runs"].items()}
    except PFedGPError as error:
        raise PolicyError(
            f"{path} cannot be used ({one_line(error)}), so everything is refused: restore or remove the file."
        ) from error


def _entry(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value["settings"], dict):
        raise MalformedError("a run in it is none")
    for key in {"time", "by", "run"} & set(value):
        text(value[key])
    return value | {"run": value.get("run", "")}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
