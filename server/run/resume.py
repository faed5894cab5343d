"""Resuming a run that was cut off: the state in its folder, and whether any rounds are left."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.state import kept
from server.run.checkpoint import Checkpoint, newest_checkpoint
from server.run.run_config import read_origin
from server.run.settings import read_kept_settings

__all__ = ["RESUME", "Resumable", "has_config", "refuse_changes"]

RESUME = "resume"  # the key of the run config
_ROUNDS = "rounds"


@dataclass(frozen=True)
class Resumable:
    """A run that can go on.

    Attributes
    ----------
    path : Path
        Absolute folder of the run.
    settings : Settings
        Of the run, with the number of rounds to reach.
    origin : dict
        The run info that the run was started with; ``engine`` is ``simulation`` or ``deployment``.
    checkpoint : Checkpoint or None
        None where the run was killed before it had written one, so that it starts anew.
    """

    path: Path
    settings: Settings
    origin: dict[str, Any]
    checkpoint: Checkpoint | None

    @classmethod
    def open(cls, path: Path, rounds: int | None = None) -> "Resumable":
        """Read the folder of a run.

        Parameters
        ----------
        path : Path
        rounds : int, optional
            Rounds to reach, if not those that the run was started with; not fewer.

        Raises
        ------
        ArtefactError
            There is no run, or it is complete.
        DamagedStateError
            It is damaged.
        ConfigError
            The number of rounds, or a setting in ``config.toml`` that was edited.
        """
        path = path.expanduser().absolute()
        if not has_config(path):
            raise ArtefactError(f"There is no run in {path}: give the folder of a run, the one that holds config.toml.")
        origin, checkpoint = read_origin(path), newest_checkpoint(path)
        settings = Settings.from_run_config(read_kept_settings(path / "config.toml"))
        if checkpoint is not None:
            # Only the number of rounds may have grown since.
            refuse_changes(settings.to_run_config(), checkpoint.settings, path)
            origin = checkpoint.run
        elif _holds_more(path):
            raise ArtefactError(
                f"The run in {path} has no checkpoint, so it cannot go on: an older version of pFedGP wrote it, or "
                "its folder checkpoints was removed. Start a new run."
            )
        if rounds is not None:
            if rounds < settings.rounds:
                raise ConfigError(
                    f"rounds = {rounds} is less than the {settings.rounds} of the run in {path}: leave it out, or give "
                    "more."
                )
            settings = settings.replace(rounds=rounds)
        done = checkpoint.round if checkpoint else 0
        if _is_complete(path) and done >= settings.rounds:
            raise ArtefactError(f"The run in {path} is complete: give --rounds with more than {done} to go on with it.")
        return cls(path, settings, origin, checkpoint)

    @property
    def engine(self) -> str:
        """What the run runs on: ``simulation`` or ``deployment``."""
        return str(self.origin.get("engine", "simulation"))

    @property
    def outputs(self) -> dict[str, str]:
        """Where else the results go, as in the run config (``tensorboard``, ``prometheus``)."""
        return {str(key): str(value) for key, value in self.origin.get("outputs", {}).items()}

    @property
    def round(self) -> int:
        """Rounds that are done and kept."""
        return self.checkpoint.round if self.checkpoint else 0


def has_config(path: Path) -> bool:
    """Whether a folder is that of a run, by its looks; DamagedStateError where the folder cannot be looked into."""
    with kept(path):
        return (path / "config.toml").is_file()


def refuse_changes(given: Mapping[str, Any], own: Settings, path: Path) -> None:
    """Make sure that the keys in `given` have the values that the run in `path` has, but for the number of rounds.

    Raises
    ------
    ConfigError
        One has another.
    """
    known = own.to_run_config()
    for key in given:
        if key != _ROUNDS and known.get(key) != given[key]:
            raise ConfigError(
                f"{key} = {given[key]!r} where the run in {path} has {known.get(key)!r}: only rounds can be changed "
                "when a run goes on; use pfedgp resume, which gives no other setting, and leave config.toml as it is."
            )


def _is_complete(path: Path) -> bool:
    try:
        return bool(read_object(path / "summary.json").get("status") == "completed")
    except UnreadableFileError:
        return False


def _holds_more(path: Path) -> bool:
    """Whether the run has come further than to its first checkpoint."""
    metrics = path / "metrics.jsonl"
    return (metrics.is_file() and metrics.stat().st_size > 0) or (path / "final").exists()
