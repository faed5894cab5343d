"""How much memory a run would need at least, against how much may be used: known before anything is allocated.

A need counts what is certainly in memory at the same time, and nothing more, so that no run which would have worked is
refused. `pfedgp_core.model.needs` says what a model and its Gaussian processes need.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod
from pathlib import Path

from pfedgp_core.errors import ConfigError, MemoryLimitError
from pfedgp_core.words import counted, shape_text, size

__all__ = ["FLOAT", "SHARE", "MemoryLimit", "Need", "group_limits", "inputs_need", "machine_memory", "require_memory"]

SHARE = 0.8  # of a machine's memory; the rest is Python, torch and the system
GIGABYTE = 10**9
PIXEL, FLOAT = 1, 4  # bytes of a value as it was read and as a network takes it
CGROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Need:
    """One thing that takes memory.

    Attributes
    ----------
    bytes : float
    what : str
        In a few words.
    remedy : str
        What makes it smaller, as the end of a sentence.
    """

    bytes: float
    what: str
    remedy: str


@dataclass(frozen=True)
class MemoryLimit:
    """How much memory a run may use here.

    Attributes
    ----------
    bytes : float
    remedy : str
        How to let it use more, as the end of a sentence.
    """

    bytes: float
    remedy: str = "use a machine with more memory"

    @classmethod
    def of_machine(cls) -> "MemoryLimit":
        """Most of this machine's memory, or of the part of it that this process may use."""
        return cls(SHARE * machine_memory())

    @classmethod
    def given(cls, gigabytes: str) -> "MemoryLimit":
        """The limit that an operator gave in gigabytes, or that of the machine where the text is empty.

        Raises
        ------
        ConfigError
            It is no positive number.
        """
        remedy = "start this site with a larger --max-memory"
        if not gigabytes.strip():
            return cls(cls.of_machine().bytes, remedy)
        try:
            number = float(gigabytes)
        except ValueError:
            number = 0.0
        if not 0 < number < inf:
            raise ConfigError(f"max-memory = {gigabytes!r} is no amount of memory: give gigabytes, such as 16.")
        return cls(number * GIGABYTE, remedy)


def require_memory(needs: Iterable[Need], limit: MemoryLimit) -> None:
    """Make sure that all needs together keep to the limit.

    Raises
    ------
    MemoryLimitError
        They do not; the text names the largest.
    """
    listed = list(needs)
    total = sum(need.bytes for need in listed)
    if total <= limit.bytes:
        return
    largest = max(listed, key=lambda need: need.bytes)
    raise MemoryLimitError(
        f"This needs at least {size(total)} of memory, {size(largest.bytes)} of it for {largest.what}, and "
        f"{size(limit.bytes)} may be used here: {largest.remedy}, or {limit.remedy}."
    )


def inputs_need(samples: int, shape: Sequence[int]) -> Need:
    """The need of inputs as they are read, and once more as a network takes them.

    Parameters
    ----------
    samples : int
    shape : sequence of int
        Of one input; with three sides it is an image, read as bytes.
    """
    each = (PIXEL if len(shape) == 3 else FLOAT) + FLOAT
    return Need(
        float(samples * prod(shape) * each),
        f"{counted(samples, 'sample')} of shape {shape_text(shape)}",
        "set a smaller input-shape, or use fewer samples",
    )


@lru_cache(maxsize=1)
def machine_memory() -> float:
    """Bytes of memory of this machine, or of the control group that this process is in where that has less."""
    import psutil  # takes a tenth of a second, which a mistake in a command need not wait for

    return min([float(psutil.virtual_memory().total), *group_limits()])


def group_limits() -> list[float]:
    """Limits of the control groups, of both versions, that this process is in."""
    limits = []
    with suppress(OSError, ValueError):
        for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            names = controllers.split(",")
            if controllers and "memory" not in names:
                continue
            root, file = (CGROUPS / "memory", "memory.limit_in_bytes") if controllers else (CGROUPS, "memory.max")
            group = root / path.lstrip("/")
            for folder in (group, *group.parents):
                if folder != root and root not in folder.parents:
                    break
                with suppress(OSError, ValueError):  # "max" stands for no limit
                    limits.append(float(int((folder / file).read_text(encoding="utf-8"))))
    return limits
