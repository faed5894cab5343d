"""The grid of benchmark cases, and how the command line selects from it.

Nothing here imports torch, so that a mistake in the command is found at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import VARIANTS

__all__ = ["Case", "select"]

CLASSES = (2, 4, 10)
SAMPLES = (80, 400, 800, 1800)
LARGE_SAMPLES = (10_000, 100_000)
LARGE_FROM = 10_000  # from here on one variant alone, with so few inducing inputs that cost grows with N only
LARGE_VARIANT = "ip-compute"
MOST_SAMPLES = 1_000_000
FEDERATION_CLASSES = 10
INDUCING_PER_CLASS = 100
LARGE_INDUCING = 100  # of all classes of the client together
TEST_PER_CLASS = 1000


@dataclass(frozen=True)
class Case:
    """One line of the benchmark.

    Attributes
    ----------
    variant : str
    classes : int
        Classes of the client.
    n : int
        Training samples of the client.
    """

    variant: str
    classes: int
    n: int

    @property
    def large(self) -> bool:
        """Whether the case belongs to the large ones, which are measured once."""
        return self.n >= LARGE_FROM

    @property
    def inducing_per_class(self) -> int:
        """Inducing inputs of each class; without meaning for ``full``."""
        return LARGE_INDUCING // self.classes if self.large else INDUCING_PER_CLASS

    @property
    def test_points(self) -> int:
        """Points that are evaluated: as many as training samples, at most 1000 a class."""
        return min(self.n, TEST_PER_CLASS * self.classes)

    def settings(self, seed: int) -> Settings:
        """The defaults of a run, with the case's variant and inducing inputs and one local epoch."""
        return Settings(
            variant=self.variant,
            network="lenet",
            inducing_per_class=self.inducing_per_class,
            classes_per_client=self.classes,
            local_epochs=1,
            seed=seed,
        )


def select(
    variants: Iterable[str] | None = None,
    classes: Iterable[int] | None = None,
    samples: Iterable[int] | None = None,
    quick: bool = False,
) -> list[Case]:
    """Return the cases to measure, small ones first.

    Parameters
    ----------
    variants, classes, samples : iterable, optional
        In place of the whole range; classes and samples need not be of the grid.
    quick : bool
        Where nothing is given: 2 classes, and 80 and 400 samples.

    Raises
    ------
    ConfigError
        A value that cannot be measured, or nothing left to measure.
    """
    kinds = tuple(variants or VARIANTS)
    counts = tuple(classes or (CLASSES[:1] if quick else CLASSES))
    sizes = sorted(set(samples or (SAMPLES[:2] if quick else SAMPLES + LARGE_SAMPLES)))
    for variant in kinds:
        if variant not in VARIANTS:
            raise ConfigError(f"--variant {variant!r} is not known; choose of: {', '.join(VARIANTS)}.")
    for k in counts:
        if not 2 <= k <= FEDERATION_CLASSES:
            raise ConfigError(f"--classes {k} cannot be measured; give numbers from 2 to {FEDERATION_CLASSES}.")
    smallest = 4 * max(counts)  # two samples a class on both sides of the hold-out
    for n in sizes:
        if not smallest <= n <= MOST_SAMPLES:
            raise ConfigError(f"--n {n} cannot be measured; give numbers from {smallest} to {MOST_SAMPLES}.")
    chosen = [
        Case(variant, k, n)
        for n in sizes
        for k in sorted(set(counts))
        for variant in VARIANTS
        if variant in kinds and (n < LARGE_FROM or (variant == LARGE_VARIANT and (samples or k == CLASSES[0])))
    ]
    if not chosen:
        raise ConfigError(
            f"Nothing is left to measure: from {LARGE_FROM} samples on only {LARGE_VARIANT} is; "
            f"give a smaller --n, or --variant {LARGE_VARIANT}."
        )
    return chosen
