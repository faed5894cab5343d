"""``pfedgp status``: the server, its sites and its runs; with the state folder of a site, that site."""

import argparse
import json
from pathlib import Path

from pfedgp.operator.connection import add_connection
from pfedgp.path_arguments import path_text

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "run", type=path_text, nargs="?", metavar="RUN", help="show this run alone: its folder's name or its id"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    add_connection(parser)


def main(args: argparse.Namespace) -> int:
    """Print the state of the deployment, or of a site."""
    if (site := _site_folder(args)) is not None:
        return _show_site(site, args.json)
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


def _site_folder(args: argparse.Namespace) -> Path | None:
    """The state folder that is meant, where it is that of a site."""
    if args.state is None or args.control or args.run:
        return None
    folder: Path = args.state.expanduser().absolute()
    return folder if (folder / "client.json").exists() and not (folder / "server.json").exists() else None


def _show_site(folder: Path, as_json: bool) -> int:
    """Print what a site does, has done, and was told by the server."""
    from pfedgp.doctor.local import check_client

    checks = list(check_client(folder))
    if as_json:
        said = {check.topic: check.problem.sentence if check.problem else check.fact for check in checks}
        print(json.dumps({"site": str(folder)} | said, indent=2))
    else:
        print("\n".join(check.line for check in checks))
    return 0
