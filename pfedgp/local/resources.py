"""What a simulation runs on: an engine, its workers, and their GPUs."""

import os
from dataclasses import dataclass

from pfedgp.local.gpus import GPUShare, require_gpus
from pfedgp_core.errors import ConfigError

__all__ = ["ENGINES", "Resources"]

ENGINES = ("pool", "ray")


@dataclass(frozen=True)
class Resources:
    """What a simulation runs on.

    Attributes
    ----------
    workers : int or None
        Processes that train clients, one core each; None: one a core of the machine.
    gpus : int
        Of this machine, or of the cluster, that the workers share.
    engine : str
        ``pool``: processes of this machine. ``ray``: Flower's own engine, unchanged.
    cluster : str
        Address of a Ray cluster; empty: this machine.

    Raises
    ------
    ConfigError
        A number too small or too large, an unknown engine, or a cluster without Ray or with `workers`.
    """

    workers: int | None = None
    gpus: int = 0
    engine: str = "pool"
    cluster: str = ""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ConfigError(f"engine = {self.engine!r} is not known; choose one of: {', '.join(ENGINES)}.")
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"workers = {self.workers} is too few: give at least 1.")
        if self.cluster and self.engine != "ray":
            raise ConfigError(f"cluster = {self.cluster!r} needs the engine of Ray: add --engine ray.")
        if self.cluster and self.workers is not None:
            raise ConfigError(
                "workers does not go with cluster, which has a worker for each CPU of its machines: leave it out, or "
                "start these with ray start --num-cpus."
            )
        if self.gpus < 0:
            raise ConfigError(f"gpus = {self.gpus} is too few: give at least 0.")
        if not self.cluster:
            require_gpus(self.gpus)

    @property
    def share(self) -> GPUShare:
        """The workers, and what each has of the GPUs."""
        return GPUShare.here(self.workers if self.workers is not None else os.cpu_count() or 1, self.gpus)
