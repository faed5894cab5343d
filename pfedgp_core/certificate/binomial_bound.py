"""An exact upper bound on an error rate from independent held-out samples (Clopper and Pearson 1934)."""

import math

from scipy.stats import beta

from pfedgp_core.certificate.levels import require_level
from pfedgp_core.errors import ConfigError

__all__ = ["clopper_pearson"]


def clopper_pearson(errors: int, n: int, delta: float) -> float:
    r"""One-sided upper bound: max{p : P(Binomial(n, p) <= errors) >= delta}, the 1 - delta quantile of Beta(e+1, n-e).

    With probability at least 1 - delta over n independent samples, which nothing about the classifier depends on, its
    true error is at most this. No error in n samples gives 1 - delta^(1/n); n errors give 1.

    Raises
    ------
    ConfigError
        n below 1, errors outside 0..n, or delta outside (0, 1).
    """
    if n < 1 or not 0 <= errors <= n:
        raise ConfigError(f"{errors} errors in {n} samples are no error rate; give 0 to n errors of at least 1 sample.")
    require_level("delta", delta)
    if errors == n:
        return 1.0
    bound = float(beta.isf(delta, errors + 1, n - errors))
    return min(1.0, math.nextafter(bound, 2.0) * (1 + 1e-12))
