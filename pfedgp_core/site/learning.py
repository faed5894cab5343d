"""A site learns from further samples only where that does not make its answers on the former ones worse.

The gate is the leave-one-out NLL of the former samples: each predicted from all others, before, and from all others and
the new ones, afterwards. Samples of another kind, or with wrong labels, raise it. Both are given that the class is one
that the site knew, so that a new class is no fault. The mean of the differences is a fault beyond twice its standard
error.

Every addition has a number, which its samples carry, so that it can be taken back: the site is then made from the rest.
That needs no copy of the former site, and brings back nothing that was forgotten meanwhile.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.site.history import Event, next_batch
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite

__all__ = ["Learned", "learn", "left_out_nll", "undo"]


@dataclass(frozen=True)
class Learned:
    """A site, and what it is after further samples.

    Attributes
    ----------
    before, after : SavedSite
    nll_before, nll_after : float
        Mean leave-one-out NLL of the former samples, in nats, at the model's temperature.
    accepted : bool
        Whether the latter is not larger by more than twice the standard error of the difference.
    milliseconds : float
        For a new sample, on average: the new tree, draws and weights of all nodes, without the network.
    """

    before: SavedSite
    after: SavedSite
    nll_before: float
    nll_after: float
    accepted: bool
    milliseconds: float


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


def learn(site: SavedSite, added: SiteSamples, by: str = "") -> Learned:
    """The site with further samples, and whether to keep it.

    Parameters
    ----------
    site : SavedSite
    added : SiteSamples
        Under the site's model.
    by : str
        Who adds them; the user where empty.

    Raises
    ------
    ConfigError
        The variant cannot leave a sample out, so that there is no gate.
    """
    if not site.classifier.leaves_one_out:
        raise ConfigError(
            f"The variant of the site {site.name!r} cannot predict a sample from all others, so new samples cannot be "
            "judged: use pfedgp onboard --add, which adds them as they are."
        )
    batch = next_batch(site.history)
    samples = site.samples.union(added.arrived_with(batch))
    event = Event.now("learn", by, len(added), len(samples), batch=batch)
    began = time.perf_counter()
    after = site.refit(samples, event)
    seconds = time.perf_counter() - began
    former = np.array([origin.batch != batch for origin in samples.origins])
    before_each = left_out_nll(site)
    # The former samples are in the same order, that of their hashes, before and after.
    after_each = left_out_nll(after, former, site.classifier.classes_)
    rise = after_each - before_each
    error = rise.std(ddof=1) / np.sqrt(len(rise)) if len(rise) > 1 else 0.0
    nll_before, nll_after = float(before_each.mean()), float(after_each.mean())
    event = replace(event, nll_before=nll_before, nll_after=nll_after)
    after = replace(after, history=(*site.history, event))
    accepted = bool(rise.mean() <= 2 * error)
    return Learned(site, after, nll_before, nll_after, accepted, 1000 * seconds / len(added))


def undo(site: SavedSite, by: str = "") -> SavedSite:
    """The site without what its last addition brought, as far as it is still there.

    Raises
    ------
    DataError
        There was no addition, or no other sample would be left.
    """
    batches = np.array([origin.batch for origin in site.samples.origins])
    last = int(batches.max())
    if not last or not (batches < last).any():
        raise DataError(f"The site {site.name!r} has no samples of a later addition: there is nothing to undo.")
    samples = site.samples.take(batches < last)
    gone = len(site.samples) - len(samples)
    return site.refit(samples, Event.now("undo", by, gone, len(samples), batch=last))
