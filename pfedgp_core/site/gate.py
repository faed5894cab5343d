r"""Whether further samples make a site's answers on its former samples worse, with copies judged out.

The score is the leave-one-out NLL of the former samples: each predicted from all others, before, and from all others
and the new ones, afterwards. Samples of another kind, or with wrong labels, raise it. Both are given that the class is
one that the site knew, so that a new class is no fault. The mean of the differences is a fault beyond twice its
standard error.

A sample whose copy stays is predicted from its own label, which hides what other samples do to it. So where inputs
repeat, the score is taken twice, and neither may rise:

* from sites in which every former sample is there once, without new samples whose input is known. A former sample
  counts as often as it was there, and copies of it are one observation in the standard error. Inputs that are nearly
  equal are copies, too (`near_copies`);
* from the sites as they are, so that known inputs with other labels are judged too.

An input is known by its features: they are all that a classifier sees of it. A contradiction is an input with two
classes to the bit: near inputs may rightly differ where classes overlap.
"""

from typing import NamedTuple

import numpy as np

from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.site.near_copies import among, reach, singles
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite

__all__ = ["Verdict", "contradictions", "copies", "judge", "left_out_nll"]


class Verdict(NamedTuple):
    """What the gate found.

    Attributes
    ----------
    nll_before, nll_after : float
        Mean leave-one-out NLL of the former samples, in nats, at the model's temperature: of the two scores the one
        that decided.
    accepted : bool
        Whether no score rose by more than twice its standard error.
    """

    nll_before: float
    nll_after: float
    accepted: bool


def judge(site: SavedSite, after: SavedSite, batch: int) -> Verdict:
    """Compare a site with what it is after an addition.

    Parameters
    ----------
    site, after : SavedSite
        Of a variant that can leave a sample out.
    batch : int
        The number that the new samples carry in `after`.
    """
    former = np.array([origin.batch != batch for origin in after.samples.origins])
    # The former samples are in the same order, that of their hashes, before and after.
    scores = [_score(site, after, former, np.ones(len(site.samples)))]
    distance = reach(site.samples)
    rows, often = singles(site.samples, distance)
    known = among(after.samples, site.samples, distance)
    if len(rows) < len(site.samples) or (known & ~former).any():
        single = site.samples.take(rows)
        new = after.samples.take(~former & ~known)
        event = after.history[-1]
        base = site if len(rows) == len(site.samples) else site.refit(single, event)
        more = base.refit(single.union(new), event) if len(new) else base
        kept = np.array([origin.batch != batch for origin in more.samples.origins])
        scores.append(_score(base, more, kept, often))
    accepted = all(score.accepted for score in scores)
    refused = [score for score in scores if not score.accepted]
    # Where all accept, the one without copies says more.
    return (refused or scores)[-1]._replace(accepted=accepted)


def copies(site: SavedSite, added: SiteSamples) -> int:
    """How many new samples equal one of the site in input and class, or nearly."""
    return int(among(added, site.samples, reach(site.samples), same_class=True).sum())


def contradictions(site: SavedSite, added: SiteSamples) -> tuple[str, ...]:
    """Ids of new samples whose input has another class too, at the site or in the addition."""
    classes: dict[bytes, set[int]] = {}
    for key, label in (*_pairs(site.samples), *_pairs(added)):
        classes.setdefault(key, set()).add(label)
    return tuple(
        origin.id for origin, (key, _) in zip(added.origins, _pairs(added), strict=True) if len(classes[key]) > 1
    )


def left_out_nll(site: SavedSite, rows: np.ndarray | None = None, classes: np.ndarray | None = None) -> np.ndarray:
    """NLL of samples of a site, each predicted from all others, at the model's temperature.

    Parameters
    ----------
    site : SavedSite
    rows : numpy.ndarray, bool [N], optional
        Which samples; default: all.
    classes : numpy.ndarray, int64 [k], optional
        Class ids, ascending: the NLL given that the class is one of these; default: all of the site.

    Returns
    -------
    numpy.ndarray, float64 [n]

    Raises
    ------
    ConfigError
        The variant cannot leave a sample out.
    """
    wanted = site.classifier.classes_ if classes is None else classes
    chosen = np.ones(len(site.samples), dtype=bool) if rows is None else rows
    columns = np.searchsorted(site.classifier.classes_, wanted)
    logs = site.classifier.leave_one_out_log_proba()[chosen][:, columns] / site.model.temperature
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    found: np.ndarray = -logs[np.arange(len(logs)), label_columns(wanted, site.samples.labels[chosen])]
    return found


def _score(before: SavedSite, after: SavedSite, former: np.ndarray, times: np.ndarray) -> Verdict:
    """The score of one pair of sites; `times` says how often each sample of `before` counts."""
    before_each = left_out_nll(before)
    after_each = left_out_nll(after, former, before.classifier.classes_)
    rise, n, total = after_each - before_each, len(before_each), times.sum()
    mean = (times * rise).sum() / total
    error = np.sqrt(((times * (rise - mean)) ** 2).sum() * n / (n - 1)) / total if n > 1 else 0.0
    nll_before, nll_after = (float((times * each).sum() / total) for each in (before_each, after_each))
    return Verdict(nll_before, nll_after, bool(mean <= 2 * error))


def _pairs(samples: SiteSamples) -> list[tuple[bytes, int]]:
    """What a classifier sees of each input, in which 0 and -0 are the same, and its class."""
    rows = samples.features + np.float32(0)
    return [(row.tobytes(), label) for row, label in zip(rows, samples.labels.tolist(), strict=True)]
