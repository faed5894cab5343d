"""The cells of an experiment: one simulated run each, with its row, column and seed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pfedgp.experiments.reading import near
from pfedgp.experiments.specification import Bounds, Experiment, Flat, Row
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError

__all__ = ["Cell", "Selection", "cell_settings", "select"]


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    row, column : str
    seed : int
    settings : Settings
    candidate : int or None
        In a search for hyper-parameters, which of the row's candidates it tries; None: a cell of the table.
    of : str
        The row whose model it tests once more; empty: it trains one.
    bounds : Bounds or None
        What it certifies in the place of a test.
    """

    row: str
    column: str
    seed: int
    settings: Settings
    candidate: int | None = None
    of: str = ""
    bounds: Bounds | None = None

    @property
    def base(self) -> str:
        """The name of the cell whose model it tests once more."""
        return f"{self.of}.{self.column}.seed-{self.seed}"

    @property
    def name(self) -> str:
        """Names its files."""
        tried = "" if self.candidate is None else f".search-{self.candidate}"
        return f"{self.row}.{self.column}{tried}.seed-{self.seed}"


@dataclass(frozen=True)
class Selection:
    """What of an experiment is wanted.

    Attributes
    ----------
    rows, columns : tuple of str
    seeds : tuple of int
    budget : float
        Factor on the settings that the experiment lets a budget scale.
    data_root : str
        Of all cells; empty: as the settings say.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: float = 1.0
    data_root: str = ""

    def cells(self, experiment: Experiment, chosen: Mapping[tuple[str, str], Flat] | None = None) -> list[Cell]:
        """The cells of the table, all of a seed before the next seed.

        Parameters
        ----------
        experiment : Experiment
        chosen : mapping, optional
            Hyper-parameters that a search has found, by row and column.
        """
        found = []
        for seed in self.seeds:
            for column in self.columns:
                for row in self.rows:
                    if column in experiment.rows[row].columns:
                        of = experiment.rows[row].of
                        changed = (chosen or {}).get((of or row, column), {})
                        settings = self._settings(experiment, row, column, seed, changed)
                        found.append(Cell(row, column, seed, settings, None, of, experiment.rows[row].bounds))
        return found

    def search_cells(self, experiment: Experiment) -> list[Cell]:
        """The runs of the search for hyper-parameters, of all rows that have a grid."""
        search, found = experiment.search, list[Cell]()
        for name in self.rows:
            row = experiment.rows[name]
            for column in [search.column] if search.column in row.columns else self.columns:
                if column in row.columns:
                    budget = self.budget * search.budget
                    found += [
                        Cell(
                            name,
                            column,
                            search.seed,
                            self._settings(experiment, name, column, search.seed, c, budget),
                            i,
                        )
                        for i, c in enumerate(row.candidates)
                    ]
        return found

    def _settings(
        self, experiment: Experiment, row: str, column: str, seed: int, changed: Flat, budget: float | None = None
    ) -> Settings:
        flat = cell_settings(experiment, experiment.rows[row], column, self.budget if budget is None else budget)
        rooted = {"data-root": self.data_root} if self.data_root else {}
        return Settings.from_run_config(flat | changed | rooted | {"seed": seed})


def cell_settings(experiment: Experiment, row: Row, column: str, budget: float) -> Flat:
    """The settings of a cell that the experiment states, scaled by a budget."""
    flat = experiment.flat(row, experiment.columns[column])
    return {key: _scaled(value, budget) if key in experiment.scaled else value for key, value in flat.items()}


def _scaled(value: float | str | bool, budget: float) -> int | float | str | bool:
    if isinstance(value, bool | str) or budget == 1.0 or value == 0:
        return value
    return max(1, round(value * budget)) if isinstance(value, int) else value * budget


def select(
    experiment: Experiment,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    budget: float = 1.0,
    data_root: str = "",
) -> Selection:
    """What the options of the command ask for.

    Raises
    ------
    ConfigError
        A row or column that the experiment does not have, a seed twice, or a budget out of range.
    """
    if not 0 < budget <= 1:
        raise ConfigError(f"--budget {budget:g} is no share: give a number above 0 and up to 1, such as 0.2.")
    if seeds is None:
        count = max(1, round(len(experiment.seeds) * budget)) if experiment.scale_seeds else len(experiment.seeds)
        seeds = experiment.seeds[:count]
    if min(seeds) < 0:
        raise ConfigError(f"--seeds {min(seeds)} is negative: give whole numbers from 0.")
    return Selection(
        _chosen("row", rows, experiment.rows),
        _chosen("column", columns, experiment.columns),
        tuple(dict.fromkeys(seeds)),
        budget,
        data_root,
    )


def _chosen(kind: str, wanted: Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    names = tuple(known)
    for name in wanted or ():
        if name not in names:
            raise ConfigError(f"--{kind}s {name!r} is no {kind} of this experiment: {near(name, names)}")
    return names if wanted is None else tuple(dict.fromkeys(wanted))
