r"""Another mix of classes than a site's own: its probabilities corrected for prior shift.

Where the inputs of each class are distributed as before, and only the shares of the classes differ, Bayes' rule gives

.. math::
    P'(y \mid x) \propto P(y \mid x) \, \frac{\pi'(y)}{\pi(y)}

with the shares pi of the site's samples and the wanted ones pi'. Equal shares, ``balanced``, answer as if each class
were equally frequent, so that a rare one is found more often, and called more often in error.
"""

import math
from collections.abc import Sequence

import numpy as np

from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut, few

__all__ = ["BALANCED", "prior_weights"]

BALANCED = "balanced"


def prior_weights(text: str, class_names: Sequence[str], counts: Sequence[int]) -> np.ndarray:
    """Factors of the probabilities, float64 [k], of which the largest is 1.

    Parameters
    ----------
    text : str
        ``balanced``, or a share for each class, such as ``ill=0.1,well=0.9``; they need not sum to 1.
    class_names : sequence of str, length k
        Of the site.
    counts : sequence of int, length k
        Its samples of each, from 1; equal ones where its nodes answer for equal shares already.

    Raises
    ------
    ConfigError
        A class without a share or that the site does not have, or a share that is no positive number.
    """
    wanted = np.ones(len(class_names)) if text == BALANCED else _shares(text, class_names)
    ratio = np.log(wanted) - np.log(np.array(counts, float))
    weights: np.ndarray = np.exp(ratio - ratio.max())
    return weights


def _shares(text: str, class_names: Sequence[str]) -> np.ndarray:
    shares: dict[str, float] = {}
    rest = text
    # A name may hold commas and equals signs, so the longest name that fits is taken first.
    names = sorted(class_names, key=len, reverse=True)
    while rest:
        name = next((name for name in names if rest.startswith(f"{name}=")), None)
        if name is None or name in shares:
            raise ConfigError(
                f"--prior {cut(text, 80)!r} does not go on with a class of the site at {cut(rest, 40)!r}: give "
                f"balanced, or one share for each of {few(class_names, 10)}, such as {class_names[0]}=0.5."
            )
        number, _, rest = rest[len(name) + 1 :].partition(",")
        try:
            shares[name] = float(number)
        except ValueError:
            shares[name] = math.nan
        if not 0 < shares[name] < math.inf:
            raise ConfigError(f"--prior: {cut(number, 40)!r} is no share of {name!r}: give a positive number.")
    if missing := [name for name in class_names if name not in shares]:
        raise ConfigError(f"--prior {cut(text, 80)!r} has no share of {few(missing)}: give one for each class.")
    return np.array([shares[name] for name in class_names])
