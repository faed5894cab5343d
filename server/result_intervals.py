"""95 % intervals of the numbers in a run's summary and of each site's own shares.

A share of samples has Wilson's interval, the mean of the sites' shares one that is made of theirs. Both say how far the
number may be off for other samples of the same sites. Every other number has a bootstrap interval over sites, from
five sites on: how far it may be off for other sites of the same kind.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.intervals import LEVEL, Estimate, mean_estimate, share_estimate
from pfedgp_core.metrics.summary import Sums
from server.exchanged import Evaluation

__all__ = ["LEAST_SITES", "RESAMPLES", "over_sites", "share_of", "summary_intervals"]

LEAST_SITES = 5
RESAMPLES = 1000


def share_of(metric: Metric, sums: Sums) -> Estimate | None:
    """A metric that is a share of samples, with its interval; None where there is no sample."""
    value = metric.value(sums)
    return None if value is None else share_estimate(value * sums.n, sums.n)


def summary_intervals(
    test: Evaluation, seed: int, at_model_temperature: Sequence[Sums] = ()
) -> dict[str, dict[str, float | str]]:
    """Intervals by the keys of the summary; a number without one is left out.

    Parameters
    ----------
    test : Evaluation
        Of the best model on the test data.
    seed : int
        Of the run; decides which sites are drawn.
    at_model_temperature : sequence of sums
        Those of each site at the model's temperature, as they are pooled.
    """
    report, counted = test.report, test.counted
    parts = [a.reply.sums.thinned(counted[name]) for name, a in test.replies.accepted.items()]
    own = [a.reply.own_or_all.thinned(counted[name]) for name, a in test.replies.accepted.items()]
    pooled, of_clients = report.metrics("pooled"), report.metrics("client")
    own_metrics = [m for m in report.metrics("own") if f"own_{m.key}" in report.own(report.sums())]
    shares: dict[str, Estimate | None] = {m.key: share_of(m, test.pooled) for m in pooled if m.share}
    shares |= {f"own_{m.key}": share_of(m, test.own_pooled) for m in own_metrics if m.share}
    for metric in (m for m in of_clients if m.share):
        each = [share_of(metric, a.reply.sums) for a in test.replies.accepted.values()]
        shares[f"mean_{metric.key}"] = mean_estimate([found for found in each if found is not None])
    drawn = over_sites({m.key: m.value for m in pooled if not m.share}, parts, report.sums(), seed)
    drawn |= over_sites({f"own_{m.key}": m.value for m in own_metrics if not m.share}, own, report.sums(), seed)
    measured = {f"{m.key}_at_model_temperature": m.value for m in pooled if m.key in ("ece", "nll")}
    drawn |= over_sites(measured, at_model_temperature, report.sums(), seed)
    wilson = {key: _interval(found, "samples") for key, found in shares.items() if found is not None}
    return wilson | {key: _interval(found, "sites") for key, found in drawn.items()}


def over_sites(
    metrics: Mapping[str, Callable[[Any], float | None]], parts: Sequence[Sums], nothing: Sums, seed: int
) -> dict[str, Estimate]:
    """Percentile intervals of metrics of pooled sums, by drawing as many sites with replacement.

    Parameters
    ----------
    metrics : mapping of str to callable
        By key, sums -> value.
    parts : sequence of sums
        Of each site, as they are pooled.
    nothing : sums
        Over no sample.
    seed : int

    Returns
    -------
    dict
        Without the metrics that do not exist for some of the draws; empty for fewer than `LEAST_SITES` sites.
    """
    tested = [sums for sums in parts if sums.n]
    if len(tested) < LEAST_SITES:
        return {}
    fields = {key: np.array([sums.to_dict()[key] for sums in tested]) for key in nothing.to_dict()}
    generator = np.random.default_rng([seed, len(tested)])
    times = generator.multinomial(len(tested), np.full(len(tested), 1 / len(tested)), size=RESAMPLES)
    pooled = {key: np.tensordot(times, values, axes=1) for key, values in fields.items()}
    draws = [type(nothing)(**{key: _plain(values[i]) for key, values in pooled.items()}) for i in range(RESAMPLES)]
    whole: Any = sum(tested, start=nothing)
    found = {}
    for key, of in metrics.items():
        value, values = of(whole), [of(draw) for draw in draws]
        if value is not None and all(each is not None for each in values):
            low, high = np.quantile(np.array(values, dtype=np.float64), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
            found[key] = Estimate(value, float(low), float(high))
    return found


def _plain(value: Any) -> Any:
    return value if np.ndim(value) else value.item()


def _interval(found: Estimate, over: str) -> dict[str, float | str]:
    return {"low": found.low, "high": found.high, "over": over}
