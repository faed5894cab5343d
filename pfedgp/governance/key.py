"""``pfedgp key``: a site makes its key pair where it stays; the server gets the public part alone."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from pfedgp.living.options import show
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.whole import explained

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the site, which the files have too")
    parser.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="where they go (default: here)")
    parser.add_argument("--rotate", action="store_true", help="make a new pair; the former one is kept under its date")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def main(args: argparse.Namespace) -> int:
    """Make ``NAME`` and ``NAME.pub``; nothing that is there is overwritten."""
    from pfedgp.operator.site_keys import check_name, make_pair

    check_name(args.name)
    folder = args.out.expanduser().absolute()
    private, public = folder / args.name, folder / f"{args.name}.pub"
    with explained(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    former = [path for path in (private, public) if path.exists() or path.is_symlink()]
    if former and not args.rotate:
        raise ConfigError(f"{former[0]} is there already: give --rotate to make another pair, or another --out.")
    if args.rotate and not former:
        raise ConfigError(f"There is no {private} to take the place of: leave out --rotate.")
    aside = _put_aside(former)
    mark = make_pair(folder, args.name)
    result = {
        "name": args.name,
        "private_key": str(private),
        "public_key": str(public),
        "fingerprint": mark,
        "former": [str(path) for path in aside],
    }
    lines = [
        f"{private}: the private key. It stays on this machine, for its owner alone.",
        (
            f"{public}: the public key. Give it to the server's operator, who registers it: pfedgp certs --public-key "
            f"{public.name}"
        ),
        f"Its fingerprint, to compare by telephone: {mark}",
    ]
    if aside:
        lines.append(
            f"The former pair is kept as {aside[0].name}; the server's operator takes it out first: pfedgp certs "
            f"--remove {args.name}"
        )
    show(result, "\n".join(lines), args.json)
    return 0


def _put_aside(former: list[Path]) -> list[Path]:
    """Rename the former pair; a private key keeps its rights."""
    stamp, kept = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f"), []
    for path in former:
        to = path.with_name(f"{path.name}.{stamp}.old")
        with explained(path):
            path.rename(to)
        kept.append(to)
    return kept
