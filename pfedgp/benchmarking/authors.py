"""Ratios of client update to plain epoch of the authors' published code, for comparison only.

They were measured beside this program: in one process with one thread, on the same CIFAR-10 images, in turn. CPU
seconds of one update with one inner step, over those of one FedAvg epoch of their own network in their own code.
"""

from pfedgp.benchmarking.cases import Case

__all__ = ["LABEL", "authors_ratio"]

LABEL = "the authors' published code over its own epoch, in one process with ours on CIFAR-10 images"

_RATIOS = {("full", 2, 400): 2.8, ("full", 2, 800): 5.7, ("full", 10, 80): 11.8}


def authors_ratio(case: Case) -> float | None:
    """The authors' ratio in a case; None where it was not measured."""
    return _RATIOS.get((case.variant, case.classes, case.n))
