"""``pfedgp learn``: a site learns from further samples, unless its answers on the former ones become worse."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.layout_options import layout_from
from pfedgp.living.options import LONGEST, add_site_options, show
from pfedgp.living.reading import add_reading
from pfedgp.options import add_column_key, column_key
from pfedgp.predicting.notes import print_notes
from pfedgp.predicting.place import require_site
from pfedgp_core.checks import printable
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import counted, few

if TYPE_CHECKING:
    from pfedgp_core.site.learning import Learned
    from pfedgp_core.site.saved import SavedSite

__all__ = ["add_arguments", "main"]

REFUSED = 3  # exit code: the old classifier stays
NO_GATE = (
    "The site had one class, which it answers for every input, so nothing can make its answers worse: the labels were "
    "not judged. Make sure of them."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_site_options(parser, changes=True)
    parser.add_argument(
        "--data", type=Path, action="append", default=[], metavar="PATH", help="labelled new samples; repeatable"
    )
    parser.add_argument("--undo", action="store_true", help="take back the last addition, as far as it is still there")
    parser.add_argument("--history", action="store_true", help="show what was done to the site, when and by whom")
    add_reading(parser, groups=True)
    add_column_key(parser)


def main(args: argparse.Namespace) -> int:
    """Change the site, or show its history; 3 where the new samples were refused and the site stays as it was."""
    if bool(args.data) + args.undo + args.history != 1:
        raise ConfigError("Give one of --data with new samples, --undo and --history.")
    require_site(args.site)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.site_lock import changing

    path = args.site.expanduser()
    if args.history:
        _show_history(SavedSite.load(path, tuple(args.allow_network)), args.json)
        return 0
    with changing(path) as change:
        print_notes(change.notes, "on the folder")
        site = SavedSite.load(path, tuple(args.allow_network))
        return _undo(site, path, args) if args.undo else _learn(site, path, args)


def _learn(site: "SavedSite", path: Path, args: argparse.Namespace) -> int:
    from client.onboard import Onboarding
    from pfedgp_core.site.learning import learn

    reading = Onboarding(
        path, None, args.resize, args.label_column, tuple(args.allow_network), column_key(args), layout_from(args)
    )
    added, notes = reading.further_samples(site, [one.expanduser() for one in args.data])
    print_notes(notes, f"by all {counted(len(added), 'sample')}")
    done = learn(site, added, args.by)
    if done.accepted:
        done.after.save(path, replace=True)
    result = _result(done)
    print_notes(_notes(done), f"by all {counted(len(added), 'sample')}")
    show(result, _text(result, args.site), args.json)
    return 0 if done.accepted else REFUSED


def _undo(site: "SavedSite", path: Path, args: argparse.Namespace) -> int:
    from pfedgp_core.site.learning import undo

    after = undo(site, args.by)
    after.save(path, replace=True)
    event = after.history[-1]
    result = {"format": "pfedgp-undo", "schema_version": 1, "site": after.name} | event.to_dict()
    said = f"Took back addition {event.batch}: {counted(event.samples, 'sample')}, {event.total} remain."
    show(result, said, args.json)
    return 0


def _result(done: "Learned") -> dict[str, Any]:
    event = done.after.history[-1]
    return {
        "format": "pfedgp-learn",
        "schema_version": 1,
        "site": done.after.name,
        "accepted": done.accepted,
        "milliseconds_per_sample": done.milliseconds,
        "classes": list((done.after if done.accepted else done.before).class_names),
        "judged": done.judged,
        "copies": done.copies,
        "contradictions": list(done.contradictions),
        "data_sha256": (done.after if done.accepted else done.before).samples.sha256,
    } | event.to_dict()


def _notes(done: "Learned") -> list[str]:
    notes = [] if done.judged else [NO_GATE]
    if done.copies:
        notes.append(
            f"{counted(done.copies, 'sample')} with a copy at the site, or nearly one: the new samples were judged "
            "without copies too, and where they are learned, each copy counts."
        )
    if done.contradictions:
        named = few([name or "a sample without an id" for name in done.contradictions])
        notes.append(
            f"{counted(len(done.contradictions), 'sample')} with an input that has another class too, at the site or "
            f"here. Make sure of the labels of {named}."
        )
    return notes


def _text(result: dict[str, Any], site: Path) -> str:
    change = f"{result['nll_before']:.4f} to {result['nll_after']:.4f}"
    what = f"{counted(result['samples'], 'sample')} (leave-one-out NLL of the former ones {change})"
    if not result["accepted"]:
        return (
            f"Not learned at the site {result['site']!r}: {what}. The old classifier stays. Look for wrong labels and "
            "for another kind of samples; pfedgp onboard --add adds them all the same."
        )
    return (
        f"Learned at the site {result['site']!r}: {what}, {result['milliseconds_per_sample']:.1f} ms a sample, "
        f"{result['total']} now. Take them back with: {shlex.join(['pfedgp', 'learn', '--site', str(site), '--undo'])}"
    )


def _show_history(site: "SavedSite", as_json: bool) -> None:
    events = [event.to_dict() for event in site.history]
    lines = [f"{e.when}\t{printable(e.by, LONGEST)}\t{e.verb}\t{e.samples}\t{e.total}" for e in site.history]
    result = {"format": "pfedgp-history", "schema_version": 1, "site": site.name, "events": events}
    show(result, "\n".join(["when\tby\twhat\tsamples\tsamples after it", *lines]), as_json)
