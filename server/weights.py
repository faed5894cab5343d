"""Clients that count with fewer samples than they claim, and claims that somebody should ask about, as sentences."""

from collections.abc import Mapping

from pfedgp_core.bounded_counts import MULTIPLE, bounded_counts
from pfedgp_core.words import few

__all__ = ["bounded", "doubtful_claims", "weight_notes"]

IMPLAUSIBLE = 100  # times the median client; with more than half of all samples, a claim is named before round 1
SHOWN = 3  # clients in a sentence


def bounded(claimed: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the clients that count with fewer samples than they claim: ``claimed`` and ``counted``, by name."""
    counted = dict(zip(claimed, bounded_counts(list(claimed.values())), strict=True))
    return {name: {"claimed": n, "counted": counted[name]} for name, n in claimed.items() if counted[name] < n}


def weight_notes(split: str, claimed: Mapping[str, int]) -> list[str]:
    """Say who counts with fewer samples than it claims, and what is hard to believe; empty where nobody does.

    Parameters
    ----------
    split : str
        Name of the data, such as ``test``.
    claimed : mapping of str to int
        Samples by the client's name.
    """
    reduced = sorted(bounded(claimed).items(), key=lambda item: -item[1]["claimed"])
    if not reduced:
        return []
    listed = few([f"{name} with {n['counted']:,} of its {n['claimed']:,} samples" for name, n in reduced], SHOWN)
    sentence = f"in the pooled {split} numbers no client weighs more than {MULTIPLE} median clients: {listed}"
    return [sentence, *doubtful_claims(split, claimed)]


def doubtful_claims(split: str, claimed: Mapping[str, int]) -> list[str]:
    """Name the client that claims an implausible share of all samples; empty where none does."""
    counts, total = sorted(n for n in claimed.values() if n), sum(claimed.values())
    if len(counts) < 2:
        return []
    median = counts[(len(counts) - 1) // 2]
    return [
        f"{name} claims {n:,} of all {total:,} {split} samples, {n / median:,.0f} times the median client: ask its "
        "operator whether that is true"
        for name, n in claimed.items()
        if 2 * n > total and n > IMPLAUSIBLE * median
    ]
