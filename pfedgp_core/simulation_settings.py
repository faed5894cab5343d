"""Settings of a simulation's data: the data set, how it is split over clients, and how noisy its images are."""

from dataclasses import dataclass

from pfedgp_core.registry import DATASETS, PARTITIONS
from pfedgp_core.setting import setting

__all__ = ["NOVEL_ALPHA_FROM", "SimulationSettings"]

NOVEL_ALPHA_FROM = 1e-3  # as dirichlet-alpha, which it stands for in its group


@dataclass(frozen=True)
class SimulationSettings:
    """What decides the data of simulated clients, beside the seed; a part of `pfedgp_core.config.Settings`."""

    dataset: str = setting(
        "digits", "data set of a simulation; deployed clients bring their own data", choices=DATASETS
    )
    data_root: str = setting("", "folder (or packed file) of the data set; empty = where the data set lies by default")
    label_column: str = setting("", "own-data: column of a table that holds the class; empty = label")
    group_column: str = setting(
        "", "own-data: what names the patient of each sample, whose samples stay in one split, as for pfedgp client"
    )
    partition_by: str = setting(
        "", "own-data: what names the site of each sample, a column, array, folder or field; group = each group is one"
    )
    clients: int = setting(20, "clients that the simulated data set is split over", low=1, high=1_000_000)
    unseen_clients: int = setting(
        0,
        "simulated clients, the last ones, that stay out of the run and can be onboarded after it",
        low=0,
        high=1_000_000,
    )
    novel_clients: int = setting(
        0,
        "simulated clients, the last ones in the run, that never train; the final test reports them apart",
        low=0,
        high=1_000_000,
    )
    partition: str = setting("k-class", "how the data set is split over simulated clients", choices=PARTITIONS)
    classes_per_client: int = setting(
        2,
        "distinct classes of each simulated client (k-class, extended-dirichlet); unused in regression",
        low=1,
        high=100_000,
    )
    dirichlet_alpha: float = setting(
        0.1, "dirichlet, quantity: how alike simulated clients are; the smaller, the less", low=1e-3, high=1e6
    )
    dirichlet_floor: int = setting(
        10, "dirichlet, quantity: training samples that every simulated client has at least", low=1, high=1_000_000
    )
    dirichlet_balanced: bool = setting(False, "dirichlet: equally many training samples for every simulated client")
    novel_alpha: float = setting(
        0.0, "dirichlet: alpha of clients that do not train, among a part of the data; 0 = as all", low=0, high=1e6
    )
    flwr_partitioner: str = setting(
        "IidPartitioner", "flwr-datasets: name and arguments, such as DirichletPartitioner alpha=0.5"
    )
    natural_floor: int = setting(
        5, "natural: samples of a site, all parts together, below which it is left out", low=1, high=1_000_000
    )
    train_samples: int = setting(
        0, "training samples that all simulated clients have together, 0 = all of the data set", low=0, high=10**9
    )
    noise: str = setting(
        "none",
        "corruptions of simulated clients' images, one of 57 models each, as strong as in one of two benchmarks",
        choices=("none", "imagenet-c", "cifar-10-c"),
    )

    @property
    def participants(self) -> int:
        """Simulated clients that take part in the run."""
        return self.clients - self.unseen_clients

    @property
    def trainers(self) -> int:
        """Simulated clients that train."""
        return self.participants - self.novel_clients
