"""``pfedgp forget``: samples are removed from a site's classifier, which is then the one that never had them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.living.options import add_site_options, show
from pfedgp.predicting.notes import print_notes
from pfedgp.predicting.place import require_site
from pfedgp_core.errors import ConfigError, PFedGPError
from pfedgp_core.words import counted, few

if TYPE_CHECKING:
    from pfedgp_core.site.forgetting import Forgotten
    from pfedgp_core.site.saved import SavedSite

__all__ = ["add_arguments", "main"]

ELSEWHERE = (
    "The site's own data files and copies of its folder are not touched: delete the samples there too, or the next "
    "pfedgp onboard --refresh brings them back."
)

ENDED = (
    "The samples are gone already: a command that was killed had taken them out of the site. The receipt is that of "
    "this command."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_site_options(parser, changes=True)
    parser.add_argument(
        "--id",
        action="append",
        default=[],
        metavar="ID",
        dest="ids",
        help="a sample by its name in predictions; repeatable",
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        dest="groups",
        help="all samples of a group, such as a patient; repeatable",
    )
    parser.add_argument("--repeated", action="store_true", help="forget all samples of an id that several of them have")
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="I assert: this site's data were never used to train or select the model",
    )


def main(args: argparse.Namespace) -> int:
    """Replace the site and print the receipt; 0 once nothing of the samples is left in its folder."""
    if not args.ids and not args.groups:
        raise ConfigError("There is nothing to forget: name samples with --id, or a group of them with --group.")
    require_site(args.site)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp_core.files.folder import remove_leftovers
    from pfedgp_core.site.forgetting import chosen_rows, forget, receipt
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.site_lock import changing

    path = args.site.expanduser()
    with changing(path, sweep=False) as change:
        site = SavedSite.load(path, tuple(args.allow_network))
        done = _finished(site, path, args)
        change.sweep()
        print_notes(change.notes, "on the folder")
        if done is None:
            done = forget(site, chosen_rows(site, args.ids, args.groups, args.repeated), args.by)
            done.after.save(path, replace=True)
            remove_leftovers(path)
        else:
            print_notes([ENDED], "on the request")
    result = receipt(done, args.ids, args.groups, args.unseen)
    show(result, _text(result), args.json)
    return 0


def _finished(site: "SavedSite", path: Path, args: argparse.Namespace) -> "Forgotten | None":
    """What a killed command has forgotten, if that is what is asked for and the former site still lies there whole."""
    from pfedgp_core.files.folder import former_folder
    from pfedgp_core.files.whole import resolved
    from pfedgp_core.site.forgetting import Forgotten, chosen_rows, forget
    from pfedgp_core.site.saved import SavedSite

    former = former_folder(resolved(path))
    if not former.is_dir() or not site.history or site.history[-1].verb != "forget":
        return None
    try:
        before = SavedSite.load(former, tuple(args.allow_network))
        again = forget(before, chosen_rows(before, args.ids, args.groups, args.repeated))
    except PFedGPError:
        return None  # it was removed in part, or this asks for something else
    if again.after.samples.sha256 != site.samples.sha256 or again.after.samples.origins != site.samples.origins:
        return None
    return Forgotten(before, site, again.equal_remaining, again.classes_lost)


def _text(result: dict[str, Any]) -> str:
    lines = [
        (
            f"Forgotten at the site {result['site']!r}: {counted(result['forgotten'], 'sample')}, "
            f"{result['remaining']} remain. The classifier is, bit for bit, the one that never had them."
        ),
        f"Samples: {result['data_sha256_before'][:12]} before, {result['data_sha256_after'][:12]} now.",
        f"Classifier: {result['tensors_sha256_before'][:12]} before, {result['tensors_sha256_after'][:12]} now.",
        result["shared_network_text"],
        ELSEWHERE,
    ]
    if result["classes_lost"]:
        lines.append(f"Without a sample now, and so never answered: {few(result['classes_lost'])}.")
    if result["equal_remaining"]:
        lines.append(
            f"{counted(result['equal_remaining'], 'sample')} that equal a forgotten one remain under other ids."
        )
    if result["without_group"]:
        lines.append(f"{counted(result['without_group'], 'sample')} of the site belong to no group and remain.")
    return "\n".join([*lines, f"Receipt {result['sha256'][:12]}; whole with --json."])
