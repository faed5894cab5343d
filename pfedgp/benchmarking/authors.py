"""Ratios of client update to plain epoch of the authors' published code, for comparison only.

They were measured elsewhere, on a machine of the same kind with one thread: CPU seconds of one update with one inner
step, over those of one FedAvg epoch of the same LeNet, with CIFAR-10 images already in memory.
"""

from pfedgp.benchmarking.cases import Case

__all__ = ["LABEL", "authors_ratio"]

LABEL = "the authors' published code, measured elsewhere on a similar machine"

_RATIOS = {
    ("full", 2): {80: 2.3, 400: 4.2, 800: 9.1, 1800: 36.1},
    ("full", 4): {80: 4.9, 400: 5.8, 800: 14.6, 1800: 58.1},
    ("full", 10): {80: 10.3, 400: 7.5, 800: 17.7, 1800: 68.9},
    ("ip-data", 2): {80: 11.2, 400: 6.1, 800: 10.8},
    ("ip-data", 4): {80: 91.8, 400: 20.5, 800: 26.7},
    ("ip-data", 10): {80: 1266.1},
    ("ip-compute", 2): {80: 7.8, 400: 7.0, 800: 10.1, 1800: 32.2},
    ("ip-compute", 4): {80: 47.0, 400: 20.1, 800: 29.2, 1800: 64.1},
    ("ip-compute", 10): {80: 634.8, 400: 121.7, 800: 135.3},
}


def authors_ratio(case: Case) -> float | None:
    """The authors' ratio in a case; None where it was not measured."""
    return _RATIOS.get((case.variant, case.classes), {}).get(case.n)
