"""``pfedgp compare``: several runs beside each other, as tables on the console, as a page and as JSON."""

import argparse
import sys
from pathlib import Path

from pfedgp_core.errors import ArtefactError

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="folders of runs; all are compared with the first"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.html", help="also write the comparison as a page")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def main(args: argparse.Namespace) -> int:
    """Print the comparison, and the path of its page; 0 once both are there."""
    out = args.out
    if out is not None:
        out = out.expanduser().absolute()
        if out.is_dir() or not out.parent.is_dir() or out.suffix.lower() not in (".html", ".htm"):
            raise ArtefactError(f"Cannot write {args.out}: give a name that ends in .html, in a folder that exists.")

    from pfedgp.comparing.as_json import comparison_object
    from pfedgp.comparing.page import comparison_page
    from pfedgp.comparing.runs import read_comparison
    from pfedgp.comparing.tables import comparison_tables
    from pfedgp.living.options import show
    from pfedgp.processes.called_as import shown
    from server.run.files import write_whole

    comparison = read_comparison(args.runs)
    tables = comparison_tables(comparison)
    show(comparison_object(comparison), "\n\n".join("\n".join(table.lines()) for table in tables), args.json)
    if out is not None:
        write_whole(out, comparison_page(comparison.names, tables))
        # Where JSON is asked for, a program reads standard output.
        print(f"\n{shown(str(out))}", file=sys.stderr if args.json else sys.stdout)
    return 0
