"""A run in Weights & Biases (extra ``wandb``): files alone, unless ``WANDB_MODE`` says otherwise."""

import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from server.report.reporters import Reporter
from server.report.scalars import final_scalars, round_scalars
from server.run.origin import Origin

if TYPE_CHECKING:
    from wandb import Run

__all__ = ["WandbLog", "require_wandb"]

OFFLINE = "offline"
TRIES = 3  # its program writes down where it listens, and wandb fails where it reads the file before the first word
SERVICE_WAIT = 120.0  # seconds in which that program has to start on a busy machine; 30 by default


def require_wandb() -> None:
    """Raise ConfigError, naming the extra, where the package is not installed; it reports no errors of its own."""
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    try:
        import wandb  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"Weights & Biases cannot be loaded ({error}): install it with pip install 'pfedgp[wandb]', or leave wandb "
            "out."
        ) from error


class WandbLog(Reporter):
    """Writes settings, the numbers of every round, and the test results at the end, into the run's folder.

    Parameters
    ----------
    project : str
        Its name.
    """

    def __init__(self, project: str) -> None:
        self.project = project
        self._run: Run | None = None

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Open the run of this folder; a resumed one has the same id."""
        require_wandb()
        import wandb

        about: dict[str, Any] = {
            "project": self.project,
            "name": path.name,
            "id": hashlib.sha256(str(path).encode()).hexdigest()[:16],
            "dir": str(path),
            "config": {key: value for key, value in settings.to_run_config().items() if value != ""},
            "resume": "allow",
            "mode": os.environ.get("WANDB_MODE", OFFLINE),
            # Neither the console, where sites are named, nor code or the machine's state.
            "settings": wandb.Settings(
                console="off",
                disable_git=True,
                save_code=False,
                silent=True,
                x_disable_stats=True,
                x_disable_meta=True,
                x_service_wait=SERVICE_WAIT,
            ),
        }
        for _ in range(TRIES - 1):
            with suppress(IndexError):
                self._run = wandb.init(**about)
                return
        self._run = wandb.init(**about)

    def round(self, record: Mapping[str, Any]) -> None:
        """Add a point to every curve."""
        self._add(round_scalars(record), int(record["round"]))

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Add the test results and close the run."""
        if self._run is not None:
            self._run.summary.update(
                {tag: value for tag, value in final_scalars(rows, summary) if math.isfinite(value)}
            )
            self._run.finish()

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Note the reason and close the run."""
        if self._run is not None:
            self._run.summary["reason"] = str(summary.get("reason", ""))
            self._run.finish(exit_code=1)

    def _add(self, values: Iterable[tuple[str, float]], step: int) -> None:
        if self._run is not None:
            self._run.log({tag: value for tag, value in values if math.isfinite(value)}, step=step)
