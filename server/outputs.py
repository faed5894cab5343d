"""Destinations of a run's results: the keys of the run config that are no settings."""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut

if TYPE_CHECKING:
    from server.report.reporters import Reporter

__all__ = ["Outputs", "take_path"]

_KINDS = dict.fromkeys(("out", "tensorboard"), "the path of a folder") | {
    "prometheus": "the path of a file",
    "mlflow": "the path of a file or the address of a server",
    "wandb": "the name of a project",
}
_PROJECT = re.compile(r"[A-Za-z0-9._-]{1,128}")


@dataclass(frozen=True)
class Outputs:
    """The operator's choices; empty means the default folder, or none at all.

    Attributes
    ----------
    out : str
        Folder of the run.
    tensorboard : str
        Folder for TensorBoard, which may hold many runs.
    prometheus : str
        File in Prometheus's text format, such as the node exporter's textfile collector reads.
    mlflow : str
        File of an MLflow data base, which may hold many runs, or the address of a tracking server.
    wandb : str
        Project of Weights & Biases.
    """

    out: str = ""
    tensorboard: str = ""
    prometheus: str = ""
    mlflow: str = ""
    wandb: str = ""

    @classmethod
    def take(cls, flat: MutableMapping[str, Any]) -> "Outputs":
        """Remove these keys from a flat config and return them.

        Raises
        ------
        ConfigError
            A value is not a text.
        """
        given = {f.name: flat.pop(f.name) for f in fields(cls) if f.name in flat}
        for key, value in given.items():
            if not isinstance(value, str) or "\0" in value:
                what = "names no path" if isinstance(value, str) else "is not a text"
                raise ConfigError(f"{key} = {cut(repr(value), 100)} {what}; give {_KINDS[key]}.")
        return cls(**given)

    def to_run_config(self) -> dict[str, str]:
        """Return the keys as they stand in a run config."""
        return asdict(self)

    def to_origin(self) -> dict[str, dict[str, str]]:
        """Return what a run remembers of these choices, for when it goes on; nothing where there is nothing."""
        kept = {key: value for key, value in asdict(self).items() if value and key != "out"}
        return {"outputs": kept} if kept else {}

    def or_else(self, kept: Mapping[str, str]) -> "Outputs":
        """Return the same with what is empty filled in from what a run remembers."""
        known = {f.name for f in fields(self)} - {"out"}
        given = asdict(self)
        return replace(self, **{key: value for key, value in kept.items() if key in known and not given[key]})

    def check(self) -> None:
        """Find mistakes before the run: a package that is missing, a file that is a folder.

        Raises
        ------
        ConfigError
            What is wrong, in one sentence.
        """
        if self.tensorboard:
            from server.report.tensorboard import require_tensorboard

            require_tensorboard()
            if _path(self.tensorboard).is_file():
                raise ConfigError(f"tensorboard = {self.tensorboard!r} is a file: give a folder.")
        if self.prometheus and _path(self.prometheus).is_dir():
            raise ConfigError(f"prometheus = {self.prometheus!r} is a folder: give the name of a file in it.")
        if self.mlflow:
            from server.report.mlflow_log import require_mlflow

            require_mlflow()
            if "://" not in self.mlflow and _path(self.mlflow).is_dir():
                raise ConfigError(f"mlflow = {self.mlflow!r} is a folder: give the name of a file in it.")
        if self.wandb:
            from server.report.wandb_log import require_wandb

            require_wandb()
            if not _PROJECT.fullmatch(self.wandb):
                raise ConfigError(
                    f"wandb = {cut(self.wandb, 60)!r} is no name of a project: give letters, digits, dots, - and _."
                )

    def reporters(self) -> "list[Reporter]":
        """Return who listens to the run. The console is last, so that the path of the run is its last line."""
        # Here and not above: the command line reads these choices before it needs any of this.
        from server.report.console import ConsoleReporter
        from server.report.html.writer import ReportWriter
        from server.report.mlflow_log import MlflowLog
        from server.report.prometheus import PrometheusFile
        from server.report.reporters import Guarded
        from server.report.tensorboard import TensorBoardLog
        from server.report.wandb_log import WandbLog

        listeners: list[Reporter] = [Guarded(ReportWriter(), "the HTML report")]
        if self.tensorboard:
            listeners.append(Guarded(TensorBoardLog(_path(self.tensorboard)), "TensorBoard"))
        if self.prometheus:
            listeners.append(Guarded(PrometheusFile(_path(self.prometheus)), "the Prometheus file"))
        if self.mlflow:
            listeners.append(Guarded(MlflowLog(self.mlflow), "MLflow"))
        if self.wandb:
            listeners.append(Guarded(WandbLog(self.wandb), "Weights & Biases"))
        return [*listeners, ConsoleReporter()]


def take_path(flat: MutableMapping[str, Any], key: str, example: str) -> str:
    """Remove a key that names a path from a flat config and return its value; empty where it is not there.

    Raises
    ------
    ConfigError
        It is not a text.
    """
    value = flat.pop(key, "")
    if not isinstance(value, str) or "\0" in value:
        raise ConfigError(f"{key} = {cut(repr(value), 100)} is not a text; give a path, {example}.")
    return value


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()
