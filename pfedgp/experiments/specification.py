"""An experiment as a TOML file states it: rows, columns, seeds, settings, and the paper's numbers."""

from dataclasses import dataclass
from itertools import product

from pfedgp_core.presets import preset_settings
from pfedgp_core.setting import Value

__all__ = ["HEADS", "OF_THE_TEST", "SCALED", "Bounds", "Column", "Experiment", "Flat", "Reported", "Row", "Search"]

# Settings that a row may change in a model that another row has trained; and, by its method, methods that train
# the same model, with their own settings.
OF_THE_TEST = (
    "personal-data",
    "inducing-per-class",
    "gp.predict-sweeps",
    "gp.predict-chains",
    "gp.link",
    "gp.quadrature",
)
HEADS = {"pfedgp": ("class-mean", "softmax-head"), "fedavg": ("fedavg-tuned", "knn-per")}
SCALED = ("rounds", "evaluate-every", "lg-fedavg.fedavg-rounds")
Flat = dict[str, Value]


@dataclass(frozen=True)
class Reported:
    """A number of the paper.

    Attributes
    ----------
    value : float
        In the unit of the experiment's metric; of an accuracy in percent.
    error : float or None
        Its standard error over the paper's seeds; None where the paper states none.
    """

    value: float
    error: float | None = None


@dataclass(frozen=True)
class Bounds:
    """What a row certifies instead of a test: classifiers of the novel clients, each from a part of its samples.

    Attributes
    ----------
    shares : tuple of float
        Parts of a client's training samples, ascending; each is a classifier of its own.
    delta : float
        Of each certificate.
    """

    shares: tuple[float, ...]
    delta: float = 0.01


@dataclass(frozen=True)
class Column:
    """What is the same for all methods of a column: data, clients, partition."""

    name: str
    title: str
    settings: Flat


@dataclass(frozen=True)
class Row:
    """A method.

    Attributes
    ----------
    name, title : str
    settings : dict
        Flat keys; they win over those of the column.
    columns : tuple of str
        Where it is run.
    paper : dict
        The paper's number by column.
    grid : dict
        Values to choose from on validation data, by setting.
    at : dict
        Settings of single columns, which win over `settings`.
    of : str
        A row whose trained model is tested once more with this row's settings; empty: this row trains its own.
    bounds : Bounds or None
        Certifies that row's model at its novel clients, in the place of the test.
    """

    name: str
    title: str
    settings: Flat
    columns: tuple[str, ...]
    paper: dict[str, Reported]
    grid: dict[str, tuple[Value, ...]]
    at: dict[str, Flat]
    of: str = ""
    bounds: Bounds | None = None

    @property
    def candidates(self) -> list[Flat]:
        """Every combination of the grid's values; none where there is no grid."""
        return (
            [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())] if self.grid else []
        )


@dataclass(frozen=True)
class Search:
    """How hyper-parameters are chosen.

    Attributes
    ----------
    column : str
        Where; empty: in each column for itself.
    seed : int
        None of the table's.
    candidates : int
        The most that a row may try, so that no method is searched harder than another.
    budget : float
        Share of the rounds.
    """

    column: str = ""
    seed: int = 1000
    candidates: int = 4
    budget: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A whole table.

    Attributes
    ----------
    name, title : str
    place : str
        In the paper, such as ``Table 1``; empty for one of ours.
    about : str
        What a reader has to know.
    metric : str
        Key of ``summary.json`` that is compared with the paper.
    seeds : tuple of int
    scaled : tuple of str
        Settings that a budget scales.
    scale_seeds : bool
        Whether it also scales the number of seeds.
    settings : dict
        Of all cells.
    columns, rows : dict
    search : Search
    preset : str
        Of settings below those of all cells; empty: none.
    curves : bool
        Whether rows are compared at equal rounds, bytes and CPU seconds too.
    call : str
        How a command names it: its name or, of a file of one's own, the path that was given.
    """

    name: str
    title: str
    place: str
    about: str
    metric: str
    seeds: tuple[int, ...]
    scaled: tuple[str, ...]
    scale_seeds: bool
    settings: Flat
    columns: dict[str, Column]
    rows: dict[str, Row]
    search: Search
    preset: str = ""
    curves: bool = False
    call: str = ""

    @property
    def percent(self) -> bool:
        """Whether the metric is shown in percent."""
        return self.metric.endswith("accuracy")

    def flat(self, row: Row, column: Column) -> Flat:
        """The settings of a cell that the file states."""
        # What joining gives is no result of a table, and the folders of former versions are without.
        usual: Flat = {"test-initial": False}
        below = self.flat(self.rows[row.of], column) if row.of else usual | self.settings | column.settings
        stated = below | row.settings | row.at.get(column.name, {})
        return preset_settings(self.preset, stated) | stated
