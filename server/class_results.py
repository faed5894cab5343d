"""Results by class of a whole run and of each site, from the counts that the sites returned in the final test.

A class is judged on the sites that know it: a site whose classifier lacks a class, and that has no sample of it, would
add nothing but samples that are easily told apart from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp_core.metrics.calibration import CalibrationSums
from pfedgp_core.metrics.class_results import CLASS_METRICS, ClassCounts, balanced_accuracy
from pfedgp_core.metrics.intervals import Estimate
from server.exchanged import Evaluation

__all__ = ["ClassResults", "with_interval"]


@dataclass(frozen=True)
class ClassResults:
    """By class id: of all sites together, and by site.

    A site counts in what is pooled with a bounded number of samples (`pfedgp_core.bounded_counts`); its own results are
    of the counts as it sent them.
    """

    pooled: dict[int, ClassCounts]
    sites: dict[str, dict[int, ClassCounts]]

    @classmethod
    def of(cls, test: Evaluation) -> "ClassResults":
        """Read them off the replies to the final test; of none where the task has no classes."""
        extras = {n: a.reply.calibration for n, a in test.replies.accepted.items() if a.reply.calibration is not None}
        pooled: dict[int, ClassCounts] = {}
        for name, extra in extras.items():
            for c, counts in _of_site(extra, test.counted[name]).items():
                pooled[c] = pooled[c] + counts if c in pooled else counts
        return cls(dict(sorted(pooled.items())), {n: _of_site(extra, extra.test[0].n) for n, extra in extras.items()})

    def client_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a client's row with its balanced accuracy behind its accuracy; None where it tested nothing."""
        balanced = with_interval("balanced_accuracy", balanced_accuracy(self.sites.get(row["name"], {})))
        at = list(row).index("accuracy_high") + 1
        return dict([*list(row.items())[:at], *balanced.items(), *list(row.items())[at:]])

    def summary(self, class_names: Sequence[str]) -> dict[str, Any]:
        """Return what the summary says: balanced accuracy, and a row for each class; empty without classes."""
        if not self.pooled:
            return {}
        return {
            **with_interval("balanced_accuracy", balanced_accuracy(self.pooled)),
            "classes": [_row(class_names[c], counts) for c, counts in self.pooled.items()],
        }

    def rows(self, class_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows of ``classes.csv``: one for each site and class."""
        return [
            {"site": site, **_row(class_names[c], counts)}
            for site, found in self.sites.items()
            for c, counts in found.items()
        ]


def with_interval(key: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Return an estimate as three values of a row: ``key``, ``key_low``, ``key_high``."""
    value, low, high = (None, None, None) if estimate is None else estimate
    return {key: value, f"{key}_low": low, f"{key}_high": high}


def _of_site(extra: CalibrationSums, n: int) -> dict[int, ClassCounts]:
    """The counts of one site for each class that it knows, reduced to `n` samples where it has more."""
    confusion = extra.thinned(0, n).confusion
    scores = extra.scores.by_class(n)
    known = sorted({*scores, *(c for true, predicted, _ in extra.confusion for c in (true, predicted))})
    return {c: ClassCounts.of(c, confusion, scores.get(c)) for c in known}


def _row(name: str, counts: ClassCounts) -> dict[str, Any]:
    row: dict[str, Any] = {"class": name, "samples": counts.samples, "positives": counts.positives}
    row["sites"] = counts.sites
    estimates: Mapping[str, Estimate | None] = counts.estimates()
    for key in CLASS_METRICS:
        row |= with_interval(key, estimates[key])
    return row
