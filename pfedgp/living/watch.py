"""``pfedgp watch``: an alarm where new samples, without labels, are unlike the site's own."""

import argparse
from pathlib import Path
from typing import Any

from pfedgp.living.options import add_site_options, show
from pfedgp.living.reading import add_reading, copies_notes, unlabelled_samples
from pfedgp.predicting.notes import print_notes
from pfedgp.predicting.place import require_site
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import counted

__all__ = ["add_arguments", "main"]

ALARMED = 3  # exit code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_site_options(parser, changes=False)
    parser.add_argument(
        "--data", type=Path, metavar="PATH", required=True, help="new samples in the order in which they came"
    )
    parser.add_argument(
        "--watch-state", type=Path, metavar="FILE", help="what is kept between calls (default: SITE.watch.json)"
    )
    parser.add_argument("--restart", action="store_true", help="forget the samples of former calls, as after an alarm")
    add_reading(parser)


def main(args: argparse.Namespace) -> int:
    """Watch the samples; 3 where there is an alarm, in this call or a former one."""
    require_site(args.site)
    import numpy as np
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp_core.files.whole import resolved
    from pfedgp_core.numerics.streams import Stream
    from pfedgp_core.site.drift import ALARM, JumperState, advance, first_alarm
    from pfedgp_core.site.drift_scores import new_scores, own_scores
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.site_lock import changing
    from pfedgp_core.site.watch_state import WatchState

    path = args.site.expanduser()
    site = SavedSite.load(path, tuple(args.allow_network))
    if not site.classifier.leaves_one_out:
        raise ConfigError(
            f"The variant of the site {site.name!r} cannot predict a sample from all others, so there is no reference "
            "for new ones: make the site from a model whose variant keeps all points, such as full."
        )
    place = resolved(path)
    file = place.with_name(f"{place.name}.watch.json") if args.watch_state is None else args.watch_state.expanduser()
    samples = unlabelled_samples(site, args.data, args)
    print_notes(copies_notes(site, "their entropy is too small, so alarms can come too early"), "on the site")
    with changing(path) as change:
        print_notes(change.notes, "on the folder")
        former = None if args.restart else WatchState.read(file)
        begins = former is None or former.data_sha256 != site.samples.sha256
        own = own_scores(site)
        start, before, highest = JumperState.start(own), 0, 1.0
        if former is not None and not begins:
            before, highest = former.seen.shape[1], former.highest
            start = JumperState(np.concatenate([own, former.seen], axis=1), former.capital)
        stream = Stream(site.model.settings.seed, "watch", site.samples.sha256, before)
        state, values = advance(start, new_scores(site, samples.inputs), stream.numpy)
        at = first_alarm(values) if highest < ALARM else None
        highest = max(highest, float(values.max()))
        WatchState(site.samples.sha256, state.scores[:, own.shape[1] :], state.capital, highest).write(file)
    result = {
        "format": "pfedgp-watch-report",
        "schema_version": 1,
        "site": site.name,
        "begins": begins,
        "samples": len(samples),
        "samples_in_all": before + len(samples),
        "capital": state.value,
        "highest": highest,
        "alarm": highest >= ALARM,
        "first_alarm": None if at is None else samples.ids[at],
    }
    show(result, _text(result), args.json)
    return ALARMED if result["alarm"] else 0


def _text(result: dict[str, Any]) -> str:
    what = (
        f"Site {result['site']!r}: {counted(result['samples'], 'sample')} watched, {result['samples_in_all']} in all; "
        f"the capital is {result['capital']:.3g}, its highest {result['highest']:.3g}"
    )
    if not result["alarm"]:
        return f"{what}: no alarm (below 100)."
    at = "in a former call" if result["first_alarm"] is None else f"at {result['first_alarm']}"
    return (
        f"{what}. ALARM {at}: the new samples are unlike the site's own. Look at what has changed; begin again with "
        "--restart."
    )
