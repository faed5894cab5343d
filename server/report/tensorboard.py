"""A run in TensorBoard: the optional extra ``tensorboard``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from server.report.reporters import Reporter, client_measures, pooled_measures
from server.report.scalars import round_scalars
from server.run.origin import Origin

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

__all__ = ["TensorBoardLog", "require_tensorboard"]


def require_tensorboard() -> None:
    """Raise ConfigError, naming the extra, where TensorBoard's package is not installed."""
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"TensorBoard cannot be loaded ({error}): install it with pip install 'pfedgp[tensorboard]', or leave "
            "tensorboard out."
        ) from error


class TensorBoardLog(Reporter):
    """Writes scalars of every round, and the test results at the end.

    Parameters
    ----------
    folder : Path
        Of all runs; this one gets a subfolder with the name of its own folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: SummaryWriter | None = None

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Open the log and note the settings."""
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(self.folder / path.name))
        rows = "".join(f"| {key} | {value} |\n" for key, value in settings.to_run_config().items())
        self._writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}")

    def round(self, record: Mapping[str, Any]) -> None:
        """Add a point to every curve, on disk when this returns."""
        if self._writer is None:
            return
        for tag, value in round_scalars(record):
            self._writer.add_scalar(tag, value, record["round"])
        self._writer.flush()

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Add the pooled test results, and the spread of the clients'."""
        if self._writer is None:
            return
        step = summary.get("best_round") or 0
        for name, value in pooled_measures(summary).items():
            self._writer.add_scalar(f"test/{name}", value, step)
        for name, values in client_measures(rows).items():
            self._writer.add_histogram(f"clients/{name}", np.array(list(values.values())), step)
        self._writer.close()

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Close the log."""
        if self._writer is not None:
            self._writer.add_text("failure", str(summary.get("reason", "")))
            self._writer.close()
