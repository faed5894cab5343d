"""Trials of what a site that lives on keeps beside its classifier: the origins of its samples, and what watch has seen.

A change that leaves the checksum as it was is found; what is sealed anew is refused, or is read as it says.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.fuzzing import seeds
from scripts.fuzzing.mutations import Mutation, changed_bytes, changed_json
from scripts.fuzzing.trial import Trial

__all__ = ["LIVING_READERS"]


def _sealed(change: Mutation) -> Mutation:
    """A change that is followed by a checksum that fits, where it is still an object."""
    from pfedgp_core.site.site_files import checksum

    def sealed(rng, content):  # type: ignore[no-untyped-def]
        changed = change(rng, content)
        try:
            about = json.loads(changed)
            about.pop("checksum", None)
            return json.dumps(about | {"checksum": checksum(about)}).encode()
        except (ValueError, TypeError, AttributeError, RecursionError):
            return changed

    return sealed


def _samples(folder: Path) -> Trial:
    """``samples.json`` of a saved site."""
    from pfedgp_core.site.ledger import LEDGER
    from pfedgp_core.site.saved import SavedSite

    seeds.site(folder)
    file, before = folder / LEDGER, SavedSite.load(folder)
    whole = file.read_bytes()
    kept = json.loads(whole)

    def read(content: bytes) -> object:
        file.write_bytes(content)
        site, says = SavedSite.load(folder), json.loads(content.decode("utf-8-sig"))
        if site.samples.sha256 != before.samples.sha256:
            raise ValueError("the samples themselves are others")
        if says["checksum"] == kept["checksum"] and site.samples.origins != before.samples.origins:
            raise ValueError("origins were changed under the former checksum")
        if says["data_sha256"] == kept["data_sha256"]:
            found = [[getattr(origin, name) for origin in site.samples.origins] for name in ("id", "group", "batch")]
            if found != [says[name] for name in ("ids", "groups", "batches")]:
                raise ValueError("the origins are not what the file says")
        return site

    return Trial([whole], (_sealed(changed_json), changed_json, changed_bytes), read)


def _watch(folder: Path) -> Trial:
    """The state of ``pfedgp watch``, from which watching goes on to finite numbers."""
    import numpy as np

    from pfedgp_core.site.drift import JumperState, advance
    from pfedgp_core.site.watch_state import WatchState

    rng = np.random.default_rng(0)
    state, values = advance(JumperState.start(rng.normal(size=(2, 20))), rng.normal(size=(2, 30)), rng)
    file = folder / "ward.watch.json"
    WatchState("ab" * 32, state.scores[:, 20:], state.capital, max(1.0, float(values.max()))).write(file)
    whole = file.read_bytes()
    kept = json.loads(whole)

    def read(content: bytes) -> object:
        file.write_bytes(content)
        found = WatchState.read(file)
        assert found is not None  # there is a file
        says: dict[str, Any] = json.loads(content.decode("utf-8-sig"))
        same = says if says["checksum"] != kept["checksum"] else kept
        if [found.data_sha256, found.seen.tolist(), found.capital.tolist(), found.highest] != [
            same[name] for name in ("data_sha256", "seen", "capital", "highest")
        ]:
            raise ValueError("the state is not what the file says")
        after, values = advance(JumperState(found.seen, found.capital), rng.normal(size=(2, 50)), rng)
        if not (np.isfinite(values).all() and (values >= 0).all() and np.isfinite(after.capital).all()):
            raise ValueError("watching goes on to numbers that are none")
        return found

    return Trial([whole], (_sealed(changed_json), changed_json, changed_bytes), read)


LIVING_READERS: dict[str, Callable[[Path], Trial]] = {"samples": _samples, "watch": _watch}
