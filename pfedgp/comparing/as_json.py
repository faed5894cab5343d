"""A comparison as one object, for programs: the numbers of the tables, unrounded."""

from typing import Any

from pfedgp.comparing.paired import Paired
from pfedgp.comparing.runs import Comparison, Pair
from pfedgp.comparing.tables import by_worth
from pfedgp_core.metrics.intervals import Estimate

__all__ = ["comparison_object"]


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """What `comparison_tables` has; the fields are in docs/simulate.md."""
    facts = comparison.facts.items()
    runs = [{"name": name} | {key: values[i] for key, values in facts} for i, name in enumerate(comparison.names)]
    return {
        "format": "pfedgp-comparison",
        "schema_version": 1,
        "runs": runs,
        "settings": comparison.settings,
        "results": {key: list(map(_result, found)) for key, found in comparison.results.items()},
        "pairs": [_pair(pair, comparison.names[0]) for pair in comparison.pairs],
    }


def _result(found: Estimate | float | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    if isinstance(found, Estimate):
        return {"value": found.value, "low": found.low, "high": found.high}
    return {"value": found, "low": None, "high": None}


def _pair(pair: Pair, first: str) -> dict[str, Any]:
    metrics = {key: _paired(key, found) for key, found in pair.metrics.items()}
    return {"name": pair.name, "against": first, "reason": pair.reason or None, "metrics": metrics}


def _paired(key: str, found: Paired) -> dict[str, Any]:
    signs = dict(zip(("better", "equal", "worse"), by_worth(key, found), strict=True))
    return {"difference": found.mean, "low": found.low, "high": found.high, "clients": found.clients} | signs
