"""``pfedgp status``: the server, its sites and its runs."""

import argparse
import json

from pfedgp.operator.connection import add_connection

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="show this run alone: its folder's name or its id")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    add_connection(parser)


def main(args: argparse.Namespace) -> int:
    """Print the state of the deployment."""
    from pfedgp.operator.connection import find_target

    target = find_target(args)
    # Flower takes seconds to load.
    from pfedgp.operator.overview import overview, printed
    from pfedgp.operator.runs import find_run

    state = overview(target)
    if args.run:
        with target.connect() as control:
            wanted = str(find_run(control, args.run).run_id)
        state["runs"] = [run for run in state["runs"] if run["id"] == wanted]
    print(json.dumps(state, indent=2) if args.json else "\n".join(printed(state)))
    return 0
