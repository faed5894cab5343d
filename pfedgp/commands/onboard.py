"""``pfedgp onboard``: a site's own data and a trained model become a personal classifier, without training."""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.bundles.download import is_bundle
from pfedgp.layout_options import add_layout, layout_from
from pfedgp.options import add_allow_network, add_column_key, column_key
from pfedgp.path_arguments import path_text
from pfedgp.table_options import add_table_options
from pfedgp_core.errors import ConfigError
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.words import counted, few

if TYPE_CHECKING:
    from client.onboard import Outcome

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "--model",
        type=path_text,
        metavar="MODEL",
        help="trained model: the folder best or final of a run; or with --key a bundle, as a file or https://...",
    )
    parser.add_argument(
        "--key", type=Path, metavar="FILE", help="public key of the one who signed the bundle, Ed25519 in PEM"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="the site's labelled data: folder of images by class, .npz, .csv, .parquet, or a folder with train/",
    )
    parser.add_argument("--out", type=Path, metavar="SITE", required=True, help="folder of the site")
    parser.add_argument("--name", metavar="NAME", help="name of the site (default: that of its folder)")
    parser.add_argument(
        "--add",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="more data, for the site that is there or together with --data; repeatable",
    )
    parser.add_argument(
        "--refresh", action="store_true", help="make the site again from --data if the model or the data changed"
    )
    parser.add_argument("--resize", action="store_true", help="resize images to the size that the model takes")
    parser.add_argument(
        "--label-column",
        default="",
        metavar="NAME",
        help="column of a table with the class, which the site remembers (default: that of the site, or label)",
    )
    add_layout(parser)
    add_table_options(parser)
    add_column_key(parser)
    add_allow_network(parser)


def main(args: argparse.Namespace) -> int:
    """Onboard the site; 0 once its folder is written, or nothing had to be."""
    out = args.out.expanduser()
    _check(args, out)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from client.onboard import Onboarding
    from pfedgp.run_model import read_bundle, read_model

    began = time.perf_counter()
    model, chosen = None, True
    if args.key is not None:
        model, chosen = read_bundle(args.model, args.key, args.allow_network)
    elif args.model is not None:
        model, chosen = read_model(Path(args.model), args.allow_network)
    onboarding = Onboarding(
        out, args.name, args.resize, args.label_column, tuple(args.allow_network), column_key(args), layout_from(args)
    )
    paths = [path.expanduser() for path in ([args.data] if args.data else []) + args.add]
    if args.refresh:
        outcome = onboarding.refresh(paths, model)
    elif args.data is None:
        outcome = onboarding.add(paths, model)
    else:
        assert model is not None  # _check
        outcome = onboarding.create(model, paths)
    _show(outcome, out, chosen, time.perf_counter() - began)
    return 0


def _check(args: argparse.Namespace, out: Path) -> None:
    if args.name is not None and (fault := name_fault(args.name, NAME_LIMIT)):
        raise ConfigError(f"--name {args.name!r} is not a name, as it {fault}: give printable text.")
    if args.key is not None and args.model is None:
        raise ConfigError("--key verifies a bundle: give its file or address with --model.")
    if args.key is None and args.model is not None and is_bundle(args.model):
        raise ConfigError(f"{args.model} is a bundle: give the public key of the one who signed it with --key.")
    if args.data is None and args.refresh:
        raise ConfigError("--refresh makes a site again from all its data: give them with --data.")
    if args.data is None and not args.add:
        raise ConfigError("There are no data: give the site's data with --data, or more data for a site with --add.")
    if args.data is not None and args.model is None and not args.refresh:
        raise ConfigError(f"A new site at {out} needs a trained model: give the folder best of a run with --model.")


def _show(outcome: "Outcome", out: Path, chosen: bool, seconds: float) -> None:
    site = outcome.site
    for sentence in (*outcome.changes, *outcome.notes):
        print(sentence)
    if not outcome.written:
        print(f"The site {site.name!r} in {out} stays as it is.")
        return
    counts = few([f"{name}: {n}" for name, n in site.samples.counts(site.model.class_names).items()], 10)
    temperature = f"{site.model.temperature:g}{'' if chosen else ' (none was chosen for this model)'}"
    print(
        f"Site {site.name!r}: {counted(len(site.samples), 'sample')} ({counts}), model {site.model.sha256[:12]}, "
        f"temperature {temperature}, {seconds:.1f} s"
    )
    at = shlex.quote(str(out))
    print(f"Saved in {out}. Predict with: pfedgp predict --site {at} --data PATH --out predictions.csv")
