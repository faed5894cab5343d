"""What a certificate counts: samples, or groups of them where the data name groups, such as patients.

The samples of a patient are not independent, but patients are. So a certificate about grouped data takes groups as its
draws, and its error is that on a sample of a new group, in which each group counts once, however many samples it has.
The share of a group's samples that are wrong is a number in [0, 1], for which the bounds of independent errors hold;
`one_of_each` makes it 0 or 1 again where a bound needs that.
"""

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["counted_groups", "independence", "means_of_groups", "one_of_each"]


def means_of_groups(values: ArrayLike, groups: np.ndarray) -> np.ndarray:
    """The mean of each group, float64 [G], in the order of the groups' numbers.

    Parameters
    ----------
    values : array [n]
    groups : array [n]
        The number of each sample's group, as `group_numbers` gives it; any numbers will do.
    """
    _, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    means: np.ndarray = np.bincount(number, np.asarray(values, dtype=np.float64), len(sizes)) / sizes
    return means


def one_of_each(groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The row of one sample of each group, each sample of a group with the same probability; int64 [G], ascending.

    Whether this sample is answered wrongly is 1 with the probability of the group's share of wrong samples. So errors
    on these rows are binomial, as those of independent samples are.

    Parameters
    ----------
    groups : array [n]
    rng : numpy.random.Generator
        Fixed without a look at the samples.
    """
    number = np.unique(groups, return_inverse=True)[1]
    shuffled = rng.permutation(len(number))
    return np.sort(shuffled[np.unique(number[shuffled], return_index=True)[1]])


def independence(samples: str, grouped: bool) -> str:
    """The condition under which samples count as independent draws.

    Parameters
    ----------
    samples : str
        Which samples, as a sentence begins with them.
    grouped : bool
        Whether groups are counted.
    """
    if grouped:
        return (
            f"{samples} are all of groups that are independent draws from the population of groups; certified is the "
            "error on a sample of a new group, where each group counts once, however many samples it has."
        )
    return (
        f"{samples} are independent draws from the client's population. Single samples are counted: no two of them are "
        "of one patient, scan or series, or of another group that the data do not name."
    )


def counted_groups(n: int, samples: int | None) -> dict[str, int | str]:
    """What a certificate counts, as fields for JSON.

    Parameters
    ----------
    n : int
        How many are counted.
    samples : int or None
        Samples of n groups; None where the samples themselves are counted.
    """
    if samples is None:
        return {"n": n, "counts": "samples", "samples": n}
    return {"n": n, "counts": "groups", "samples": samples}
