"""``pfedgp report``: one HTML file about a run, drawn from the run's folder."""

import argparse
from pathlib import Path

from pfedgp_core.errors import ArtefactError

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, the one that holds config.toml")
    parser.add_argument("--out", type=Path, metavar="FILE.html", help="where to write it (default: report.html in RUN)")
    parser.add_argument(
        "--positive-class",
        default="",
        metavar="CLASS",
        help="class that is worse to miss than to suspect (default: the run's own setting)",
    )
    parser.add_argument(
        "--certificate",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="what pfedgp certify --json printed for a site of this run; kept in the run's folder; repeatable",
    )


def main(args: argparse.Namespace) -> int:
    """Write the report and print its path."""
    run, out = args.run.expanduser().absolute(), args.out
    if out is not None:
        out = out.expanduser().absolute()
        if out.is_dir() or not out.parent.is_dir():
            raise ArtefactError(f"Cannot write {args.out}: give the name of a file in a folder that exists.")
        if out.suffix.lower() not in (".html", ".htm"):
            raise ArtefactError(f"A report is HTML, and {args.out} is not named so: give a name that ends in .html.")

    from pfedgp.processes.called_as import shown
    from server.report.html.certificates import add_certificates
    from server.report.html.writer import of_files, write_report

    if args.certificate:
        add_certificates(run, args.certificate)
    with of_files(run):
        written = write_report(run, out, args.positive_class)
    print(shown(str(written)))
    return 0
