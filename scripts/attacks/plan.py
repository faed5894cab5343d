"""What the table of attacks compares: its parts, and the federations in each."""

from dataclasses import dataclass, replace

from pfedgp_core.config import GPSettings, Settings
from scripts.attacks.federation import ALL, FIRST
from scripts.attacks.kinds import ATTACKS
from scripts.attacks.trials import Trial

__all__ = ["FIVE", "HEAD", "PARTS", "TEN", "Part"]

# Fewer rounds, Gibbs chains and sweeps than by default, for a run in a few seconds; all else is the default.
FEW = GPSettings(train_chains=6, predict_chains=10, sweeps=3, quadrature=16)
FIVE = Settings(clients=5, clients_per_round=5, classes_per_client=4, rounds=30, gp=FEW)
TEN = FIVE.replace(clients=10, clients_per_round=10, aggregation="trimmed-mean", trim_share=0.2)
# As many rounds as a head is the default from: 300 visits.
HEAD = FIVE.replace(rounds=60, objective="softmax", gp=replace(FEW, prior_mean="head", output_scale=4.0))
OPEN = {"clip_updates": 0.0, "max_update_norm": 1e12}
MEDIAN, TRIMMED = {"aggregation": "median"}, {"aggregation": "trimmed-mean", "trim_share": 0.2}
NEAREST = {"aggregation": "nearest", "trim_share": 0.2}


@dataclass(frozen=True)
class Part:
    """A table: a row for each attack, a column for each federation.

    Attributes
    ----------
    columns : dict of str to Settings
    rounds : tuple of str
    seeds : tuple of int
    once : tuple of str
        Columns of one seed, the first.
    without : tuple of str
        Attacks that are left out.
    """

    columns: dict[str, Settings]
    rounds: tuple[str, ...] = (FIRST, ALL)
    seeds: tuple[int, ...] = (0, 1, 2)
    once: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def attacks(self) -> list[tuple[str, str]]:
        """Attack and rounds of each row; the first one is nobody's."""
        rows = [(attack, rounds) for rounds in self.rounds for attack in ATTACKS if attack not in self.without]
        return [("", FIRST), *rows]

    def seeds_of(self, column: str) -> tuple[int, ...]:
        """The seeds of a column."""
        return self.seeds[:1] if column in self.once else self.seeds

    def trials(self, column: str, attack: str, rounds: str) -> list[Trial]:
        """The runs behind one cell, a seed each."""
        return [Trial(self.columns[column].replace(seed=seed), attack, rounds) for seed in self.seeds_of(column)]

    def all_trials(self) -> list[Trial]:
        """The runs behind all cells, all columns of a seed before the next seed."""
        return [
            Trial(settings.replace(seed=seed), *row)
            for seed in self.seeds
            for column, settings in self.columns.items()
            for row in self.attacks
            if seed in self.seeds_of(column)
        ]


def _averages(settings: Settings) -> dict[str, Settings]:
    """The same federation under each average."""
    name = settings.method
    return {
        f"`{name}`": settings,
        f"`{name}`, `median`": settings.replace(**MEDIAN),
        f"`{name}`, `trimmed-mean` 0.2": settings.replace(**TRIMMED),
        f"`{name}`, `nearest` 0.2": settings.replace(**NEAREST),
    }


PARTS = {
    "pfedgp": Part({"default": FIVE, "no bound": FIVE.replace(**OPEN)}, once=("no bound",)),
    "shared head": Part(
        {
            "shared head": HEAD,
            "prior mean zero": FIVE.replace(rounds=60),
            "shared head, `nearest` 0.2": HEAD.replace(**NEAREST),
        },
        rounds=(ALL,),
        once=("prior mean zero", "shared head, `nearest` 0.2"),
    ),
    "averages": Part(
        {
            "`median`": FIVE.replace(**MEDIAN),
            "`trimmed-mean` 0.2": FIVE.replace(**TRIMMED),
            "`nearest` 0.2": FIVE.replace(**NEAREST),
            "two of ten, `median`": TEN.replace(**MEDIAN),
            "two of ten, `trimmed-mean` 0.2": TEN,
            "two of ten, `nearest` 0.2": TEN.replace(**NEAREST),
            "`samples`, forged counts": FIVE.replace(aggregation="samples"),
        },
        rounds=(ALL,),
        seeds=(0,),
    ),
    "other methods": Part(
        _averages(FIVE.replace(method="fedavg")) | _averages(FIVE.replace(method="fedper")), rounds=(ALL,), seeds=(0,)
    ),
    "other federations": Part(
        {
            "two sites": FIVE.replace(clients=2, clients_per_round=2, classes_per_client=5),
            "three sites": FIVE.replace(clients=3, clients_per_round=3, partition="homogeneous"),
            "one of five drawn": FIVE.replace(clients_per_round=1, rounds=60),
            "`ip-data`": FIVE.replace(variant="ip-data"),
            "`dp-noise`": FIVE.replace(dp_noise=0.01),
        },
        rounds=(ALL,),
        seeds=(0,),
    ),
    "regression": Part(
        {
            "five sites": FIVE.replace(dataset="diabetes", task="regression"),
            "two sites": FIVE.replace(dataset="diabetes", task="regression", clients=2, clients_per_round=2),
            "five sites, `ip-data`": FIVE.replace(dataset="diabetes", task="regression", variant="ip-data"),
        },
        rounds=(ALL,),
        seeds=(0,),
        without=("backdoor",),
    ),
}
