"""A run's results as objects, read from its folder."""

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ArtefactError
from server.report.html.run_files import RunFiles, as_number, read_run
from server.report.wording import measure, metric_behind, title

__all__ = ["Run"]


@dataclass(frozen=True, eq=False)
class Run:
    """A run that is over, or as far as it has come.

    Parameters
    ----------
    path : Path
        Its folder.

    Raises
    ------
    ArtefactError
        There is no run in the folder.
    DamagedStateError
        One of its files is damaged.

    Examples
    --------
    >>> run = Run("runs/digits")
    >>> run.summary["accuracy"], run.clients[0]["nll"]
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path).expanduser().absolute())
        _ = self.files

    @cached_property
    def files(self) -> RunFiles:
        """All that the folder holds, as the report reads it."""
        return read_run(self.path)

    @property
    def settings(self) -> dict[str, Any]:
        """All effective settings, by key."""
        return self.files.settings

    @property
    def summary(self) -> dict[str, Any]:
        """Results and facts of the whole run; empty before its end."""
        return self.files.summary

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``."""
        return self.files.rounds

    @cached_property
    def clients(self) -> list[dict[str, Any]]:
        """A row for each client, numbers as such; ``pandas.DataFrame(run.clients)`` makes a table of them."""
        return [
            {key: text if key in ("name", "classes") else _value(text) for key, text in row.items()}
            for row in self.files.clients
        ]

    @property
    def model(self) -> Path:
        """The folder of the best model, which `PersonalClassifier` and ``pfedgp onboard`` take.

        Raises
        ------
        ArtefactError
            The run has none yet.
        """
        folder = self.path / "best"
        if not folder.is_dir():
            raise ArtefactError(f"The run {self.path} has no best model yet: let it go on with pfedgp resume.")
        return folder

    def __repr__(self) -> str:
        """Folder and headline."""
        status = self.summary.get("status", "not over")
        return f"Run({', '.join([repr(str(self.path)), str(status), *(f'{k} {v}' for k, v in self._headline()[:3])])})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in self._headline())
        return f"<table><caption>{escape(self.path.name)}</caption>{rows}</table>"

    def _headline(self) -> list[tuple[str, str]]:
        own = [key for key in self.summary if metric_behind(key) is not None and not key.startswith("own_")]
        return [(title(key), measure(key, self.summary[key])) for key in own if type(self.summary[key]) is float]


def _value(text: str) -> Any:
    number = as_number(text)
    if number is None:
        return text or None
    return int(number) if text.lstrip("-").isdecimal() else number
