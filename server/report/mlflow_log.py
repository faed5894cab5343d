"""A run in MLflow: the optional extra ``mlflow``. Its data base is a file, or a tracking server's address."""

import logging
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut
from server.report.reporters import Reporter
from server.report.scalars import final_scalars, round_scalars
from server.run.origin import Origin

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

__all__ = ["MlflowLog", "require_mlflow", "tracking_address"]

EXPERIMENT = "pfedgp"
FOLDER = "pfedgp.folder"  # tag by which a resumed run finds its own
LONGEST = 500  # characters of a setting's value
AT_ONCE = 100  # settings that MLflow takes in one call


def require_mlflow() -> None:
    """Raise ConfigError, naming the extra, where MLflow is not installed; it reports nothing of its own use."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        import alembic  # noqa: F401
        import mlflow.tracking  # noqa: F401
        import sqlalchemy  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"MLflow cannot be loaded ({error}): install it with pip install 'pfedgp[mlflow]', or leave mlflow out."
        ) from error


def tracking_address(given: str) -> str:
    """MLflow's address of a file, which becomes one of SQLite, or of a server."""
    return given if "://" in given else f"sqlite:///{Path(given).expanduser().absolute()}"


class MlflowLog(Reporter):
    """Writes settings, the numbers of every round, and the test results at the end.

    Parameters
    ----------
    given : str
        Path of a file, or the address of a tracking server.
    """

    def __init__(self, given: str) -> None:
        self.address = tracking_address(given)
        self._client: MlflowClient | None = None
        self._run = ""

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Open the run of this folder, or make it and note the settings."""
        require_mlflow()
        from mlflow.entities import Param
        from mlflow.tracking import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # it tells of its tables otherwise
        client = MlflowClient(tracking_uri=self.address)
        known = client.get_experiment_by_name(EXPERIMENT)
        experiment = client.create_experiment(EXPERIMENT) if known is None else known.experiment_id
        text = str(path).replace("'", "")
        former = client.search_runs([experiment], f"tags.`{FOLDER}` = '{text}'", max_results=1)
        if former:
            self._run = former[0].info.run_id
            client.set_terminated(self._run, "RUNNING")
        else:
            self._run = client.create_run(experiment, tags={FOLDER: text}, run_name=path.name).info.run_id
            given = [Param(key, cut(value, LONGEST)) for key, value in settings.to_run_config().items() if value != ""]
            for first in range(0, len(given), AT_ONCE):
                client.log_batch(self._run, params=given[first : first + AT_ONCE])
        self._client = client

    def round(self, record: Mapping[str, Any]) -> None:
        """Add a point to every curve."""
        self._add(round_scalars(record), int(record["round"]))

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Add the test results and close the run."""
        self._add(final_scalars(rows, summary), int(summary.get("best_round") or 0))
        self._close("FINISHED")

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Note the reason and close the run."""
        if self._client is not None:
            self._client.set_tag(self._run, "reason", cut(str(summary.get("reason", "")), LONGEST))
        self._close("FAILED")

    def _add(self, values: Iterable[tuple[str, float]], step: int) -> None:
        if self._client is None:
            return
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        made = [Metric(tag, value, now, step) for tag, value in values if math.isfinite(value)]
        self._client.log_batch(self._run, metrics=made)

    def _close(self, status: str) -> None:
        if self._client is not None:
            self._client.set_terminated(self._run, status)
