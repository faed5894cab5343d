"""A metric as a value: its name, the places where it is shown, and its formula on sums over samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Direction", "Metric", "Place"]

Place = Literal["validation", "record", "client", "own", "pooled", "baseline"]
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """One metric. A new one is a file that holds such a value, and a line in ``pfedgp_core.registry.METRICS``.

    Attributes
    ----------
    key : str
        Its name in files, and as a heading of the console's tables.
    title : str
        Its name in headings of the report.
    of : callable
        Sums over at least one sample -> value, or None where the samples have none. A pure function.
    tasks : tuple of str
        Tasks whose sums it can be computed from; see ``metrics.summary.sums_of``.
    better : str
        Whether ``higher`` or ``lower`` values are better, or ``neither``, as where a nominal level is best.
    shown : tuple of str
        Where it is shown: in a round's ``validation`` (``record``: in the file of rounds alone), in the row of each
        ``client`` (``own``: there and in the summary a second time, over the client's own classes alone), over the
        ``pooled`` test samples, or there as a ``baseline``, which says not how good the model is but what it has to
        beat.
    share : bool
        Whether it is a share of samples, which reads best as a percentage.
    line : str
        How the console's line about a round shows it, with ``{}`` for the value; empty means the key and the value.
    """

    key: str
    title: str
    of: Callable[[Any], float | None]
    tasks: tuple[str, ...]
    better: Direction
    shown: tuple[Place, ...]
    share: bool = False
    line: str = ""

    def value(self, sums: Any) -> float | None:
        """Return the metric of pooled samples; None, never NaN, where there is no sample."""
        return self.of(sums) if sums.n else None

    def text(self, value: float) -> str:
        """Return a value as tables and log lines show it: shares as percentages, all else with three decimals."""
        return f"{100 * value:.1f} %" if self.share else f"{value:.3f}"

    def worth(self, value: float) -> float:
        """Return a number that is larger the better the value is; 0 where no direction is better."""
        return {"higher": value, "lower": -value, "neither": 0.0}[self.better]
