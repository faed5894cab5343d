r"""Exact deletion of samples from a site's classifier, and what can be said afterwards.

A site's classifier is a function of its samples, its model and the run's seed. So the one that is made from the rest
is, bit for bit, the one that never had the forgotten samples. The shared network is another matter: where the site took
part in the training, it was moved by these samples too, and only a training without them would change that.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfedgp_core.data.own.groups import former_group_hashes, group_hashes
from pfedgp_core.errors import DataError
from pfedgp_core.site.history import Event
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.words import cut, few

__all__ = ["Forgotten", "chosen_rows", "forget", "receipt"]


@dataclass(frozen=True)
class Forgotten:
    """A site before and after samples were removed.

    Attributes
    ----------
    before, after : SavedSite
    equal_remaining : int
        Samples that stay and equal a forgotten one: the same input and class under another id.
    classes_lost : tuple of str
        Classes without a sample now.
    """

    before: SavedSite
    after: SavedSite
    equal_remaining: int
    classes_lost: tuple[str, ...]


def chosen_rows(site: SavedSite, ids: Sequence[str], groups: Sequence[str], repeated: bool = False) -> np.ndarray:
    """Which samples have one of the ids or belong to one of the groups, bool [N].

    Parameters
    ----------
    site : SavedSite
    ids, groups : sequence of str
        Names, as the data have them.
    repeated : bool
        Whether an id may name several samples. Numbers of rows do, where data came in several files.

    Raises
    ------
    DataError
        A name that no sample has, or an id of several samples.
    """
    origins = site.samples.origins
    known = Counter(origin.id for origin in origins if origin.id)
    # A site of a former version has the hashes of names as they were written.
    hashes = dict(zip(groups, zip(group_hashes(groups), former_group_hashes(groups), strict=True), strict=True))
    here = {origin.group for origin in origins if origin.group}
    if ids and not known:
        raise DataError(
            f"The site {site.name!r} was made by a former version and knows no ids: make it again from its data with "
            "pfedgp onboard --refresh."
        )
    if groups and not here:
        raise DataError(
            f"The samples of the site {site.name!r} have no groups: forget them by id, or make the site again with "
            "pfedgp onboard --refresh and --group-column."
        )
    missing = [name for name in ids if name not in known] + [name for name in groups if here.isdisjoint(hashes[name])]
    if missing:
        names = few(list(map(repr, missing)))
        raise DataError(f"The site {site.name!r} has no sample of {names}: nothing was changed.")
    many = [name for name in ids if known[name] > 1]
    if many and not repeated:
        raise DataError(
            f"The id {cut(many[0], 80)!r} names {known[many[0]]} samples of the site {site.name!r}: give --repeated to "
            "forget all that have it, or --group."
        )
    wanted, gone = set(ids), {hashed for both in hashes.values() for hashed in both}
    return np.array([bool((o.id and o.id in wanted) or (o.group and o.group in gone)) for o in origins], dtype=bool)


def forget(site: SavedSite, rows: np.ndarray, by: str = "") -> Forgotten:
    """The site without some of its samples, bool [N].

    Raises
    ------
    DataError
        No sample would be left.
    """
    if rows.all():
        raise DataError(f"No sample of the site {site.name!r} would be left: delete its folder instead.")
    samples = site.samples.take(~rows)
    after = site.refit(samples, Event.now("forget", by, int(rows.sum()), len(samples)))
    gone = {row.tobytes() for row in site.samples.digests[rows]}
    equal = sum(row.tobytes() in gone for row in samples.digests)
    lost = site.samples.counts(site.model.class_names).keys() - samples.counts(site.model.class_names).keys()
    return Forgotten(site, after, equal, tuple(sorted(lost)))


def receipt(done: Forgotten, ids: Sequence[str], groups: Sequence[str], unseen: bool = False) -> dict[str, Any]:
    """What was forgotten, with hashes of the site before and after, for JSON.

    Parameters
    ----------
    done : Forgotten
    ids, groups : sequence of str
        As they were asked for.
    unseen : bool
        A person says that the site's data never trained or selected the model.
    """
    before, after, event = done.before, done.after, done.after.history[-1]
    state, sentence = _shared_network(before, event.samples, unseen)
    content = {
        "format": "pfedgp-forget-receipt",
        "schema_version": 1,
        "site": after.name,
        "when": event.when,
        "by": event.by,
        "ids": list(ids),
        "groups": list(groups),
        "forgotten": event.samples,
        "remaining": event.total,
        "equal_remaining": done.equal_remaining,
        "without_group": sum(not origin.group for origin in after.samples.origins) if groups else 0,
        "classes_lost": list(done.classes_lost),
        "data_sha256_before": before.samples.sha256,
        "data_sha256_after": after.samples.sha256,
        "tensors_sha256_before": hashlib.sha256(before.tensor_bytes()).hexdigest(),
        "tensors_sha256_after": hashlib.sha256(after.tensor_bytes()).hexdigest(),
        "model_sha256": after.model.sha256,
        "shared_network": state,
        "shared_network_text": sentence,
    }
    return content | {"sha256": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}


def _shared_network(site: SavedSite, n: int, unseen: bool) -> tuple[str, str]:
    """What the model that the site stands on carries of the forgotten samples: a word, and a sentence."""
    model = site.model.sha256[:12]
    if site.took_part:
        return "trained", (
            f"The shared network {model} was trained with data of the site {site.name!r} and still carries what it "
            f"learned from {'it' if n == 1 else 'them'}: only a training without {_these(n)} changes that."
        )
    if unseen:
        return "nothing", (
            f"The shared network {model} carries nothing of {_these(n)}: by your word no data of this site "
            "trained or selected it."
        )
    if not site.model.participants:
        return "unknown", (
            f"The shared network {model} does not say who trained it, so nobody knows whether it carries anything of "
            f"{_these(n)}."
        )
    return "not-by-this-name", (
        f"No client of the name {site.name!r} trained the shared network {model}: it carries nothing of "
        f"{_these(n)}, unless the site took part under another name."
    )


def _these(n: int) -> str:
    """The forgotten samples in a sentence: ``this sample``, ``these 2 samples``."""
    return "this sample" if n == 1 else f"these {n} samples"
