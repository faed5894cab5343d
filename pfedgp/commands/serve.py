"""``pfedgp serve``: a resident site, which answers requests for predictions over HTTP."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.layout_options import add_site_label, site_label
from pfedgp.options import add_allow_network, read_whole
from pfedgp.predicting.place import require_site
from pfedgp.serving.listening import (
    add_listening,
    address_of,
    check_listening,
    names_of,
    run_until_stopped,
    warn_of_plaintext,
)
from pfedgp.serving.token import read_token
from pfedgp.table_options import add_table_options, site_choice

if TYPE_CHECKING:
    from pfedgp.serving.work import Work

__all__ = ["add_arguments", "main"]

MEGABYTE = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "--site", type=Path, metavar="SITE", required=True, help="folder of pfedgp onboard, or STATE/site"
    )
    add_listening(parser, 8787, "SITE.token", "token and data")
    parser.add_argument("--max-body", default="16", metavar="MB", help="megabytes of a request (default: 16)")
    parser.add_argument("--resize", action="store_true", help="resize images to the size that the model takes")
    add_site_label(parser)
    add_table_options(parser)
    add_allow_network(parser)


def main(args: argparse.Namespace) -> int:
    """Answer until it is stopped; 0 after SIGTERM or Ctrl-C."""
    most = read_whole(args.max_body, "--max-body", 1000) * MEGABYTE
    port = read_whole(args.port, "--port", 65535)
    check_listening(args)
    from pfedgp.serving.app import make_app
    from pfedgp.serving.server import listen, make_server

    site = args.site.expanduser()
    token_file = (args.token or site.absolute().with_name(f"{site.absolute().name}.token")).expanduser()
    work = _work(args, site, most)
    names, token = names_of(args), read_token(token_file)
    with listen(args.host, port) as socket:
        server = make_server(make_app(work, token, names), args.certificate, args.key)
        warn_of_plaintext(args, "token, samples and predictions")
        print(
            f"Site {work.site.name!r} answers at {address_of(args, port)}/predict, described at /docs; token in "
            f"{token_file}",
            flush=True,
        )
        run_until_stopped(server, socket)
    return 0


def _work(args: argparse.Namespace, path: Path, most: int) -> "Work":
    import numpy as np
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp.serving.bodies import Reader
    from pfedgp.serving.work import Work
    from pfedgp_core.data.value_range import BYTES
    from pfedgp_core.site.saved import SavedSite

    require_site(path)
    site = SavedSite.load(path, tuple(args.allow_network))
    shape = site.model.input_shape
    values = site.model.value_range
    kind = np.uint8 if values == BYTES else np.float32
    site.predict(np.zeros((1, *shape), kind))  # the first one is slower than all others
    choice, rules = site_choice(args, site.choice), site.model.settings.column_rules
    reading = shape, site.columns, values, args.resize, site_label(args, site)
    return Work(site, Reader(*reading, most_bytes=most, choice=choice, rules=rules))
