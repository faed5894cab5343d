"""Standard errors of metrics that were measured on clients drawn from all, by leaving out one client at a time.

With m of M clients drawn without replacement, their sums s_1 ... s_m and a metric f of pooled sums,

    f_i = f(s_1 + ... + s_m - s_i),    SE^2 = (1 - m / M) (m - 1) / m  sum_i (f_i - mean f)^2.

This is the delete-one jackknife with the factor of a finite population. It fits every metric of sums, and clients of
any size: the error is that of drawing other clients, not other samples of the same ones.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

__all__ = ["sampling_errors"]


def sampling_errors(
    metrics: Mapping[str, Callable[[Any], float | None]], parts: Sequence[Any], nothing: Any, able: int
) -> dict[str, float]:
    """Standard errors of metrics of pooled sums.

    Parameters
    ----------
    metrics : mapping of str to callable
        By key, sums -> value.
    parts : sequence
        The sums of each client that was drawn and answered, which can be added.
    nothing : sums
        Over no sample.
    able : int
        Clients that could have been drawn (M), at least as many as `parts`.

    Returns
    -------
    dict
        Without the metrics that do not exist for some of the left-out sums; empty for fewer than two clients.
    """
    m = len(parts)
    if m < 2:
        return {}
    before = list(accumulate(parts, initial=nothing))
    after = list(accumulate(reversed(parts), initial=nothing))[::-1]
    left = [before[i] + after[i + 1] for i in range(m)]
    errors = {}
    for key, of in metrics.items():
        values = [value for sums in left if (value := of(sums)) is not None]
        if len(values) == m:
            mean = math.fsum(values) / m
            spread = math.fsum((value - mean) ** 2 for value in values)
            errors[key] = math.sqrt((1 - m / able) * (m - 1) / m * spread)
    return errors
