"""A site learns from further samples only where that does not make its answers on the former ones worse.

What is worse is decided by the leave-one-out NLL of the former samples (`gate`).

Every addition has a number, which its samples carry, so that it can be taken back: the site is then made from the rest.
That needs no copy of the former site, and brings back nothing that was forgotten meanwhile.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.site.gate import contradictions, copies, judge
from pfedgp_core.site.history import Event, next_batch
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite

__all__ = ["Learned", "learn", "undo"]


@dataclass(frozen=True)
class Learned:
    """A site, and what it is after further samples.

    Attributes
    ----------
    before, after : SavedSite
    nll_before, nll_after : float
        Mean leave-one-out NLL of the former samples, in nats, at the model's temperature.
    accepted : bool
        Whether the latter is not larger by more than twice the standard error of the difference; see `judge`.
    milliseconds : float
        For a new sample, on average: the new tree, draws and weights of all nodes, without the network.
    copies : int
        New samples that equal a former one in input and class, or nearly.
    contradictions : tuple of str
        Ids of new samples whose input has another class too, at the site or in the addition.
    """

    before: SavedSite
    after: SavedSite
    nll_before: float
    nll_after: float
    accepted: bool
    milliseconds: float
    copies: int
    contradictions: tuple[str, ...]

    @property
    def judged(self) -> bool:
        """Whether there was a gate: a site of one class answers it with probability 1, whatever is added."""
        return len(self.before.class_names) > 1


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
    verdict = judge(site, after, batch)
    event = replace(event, nll_before=verdict.nll_before, nll_after=verdict.nll_after)
    after = replace(after, history=(*site.history, event))
    return Learned(site, after, *verdict, 1000 * seconds / len(added), copies(site, added), contradictions(site, added))


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
