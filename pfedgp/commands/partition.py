"""``pfedgp partition``: who holds what in a simulation, without running it."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.collecting import collect_settings
from pfedgp.options import add_settings
from pfedgp_core.errors import ConfigError
from server.outputs import Outputs
from server.run.settings import read_settings_file

if TYPE_CHECKING:
    from pfedgp_core.config import Settings

__all__ = ["add_arguments", "main"]

_FIGURES = (".png", ".svg")
_MOST_COLUMNS = 20  # classes that have a column each


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb; its settings are those of a run."""
    add_settings(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw it, as .png or .svg")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def main(args: argparse.Namespace) -> int:
    """Print clients, classes and the digest."""
    if args.plot and args.plot.suffix.lower() not in _FIGURES:
        raise ConfigError(f"--plot {args.plot} is neither .png nor .svg: give a file with one of these endings.")
    flat = read_settings_file(args.config) if args.config else {}
    Outputs.take(flat)
    # They have no part in who holds what, and must not stand in the way of a small number of clients.
    flat |= {"clients-per-round": 1, "min-results": 1, "aggregation": "uniform"}
    settings = collect_settings(flat, vars(args), args.assignments)

    from pfedgp_core.data.datasets import dataset_of
    from pfedgp_core.data.partitions.overview import overview
    from pfedgp_core.data.simulated import simulated_partition

    dataset = dataset_of(settings)
    partition = simulated_partition(settings)
    shown = overview(partition, dataset.labels, dataset.class_names)
    names = list(dataset.class_names) or ["samples"]
    title = f"{settings.dataset}, {settings.partition}, {settings.clients} clients, seed {settings.seed}"
    if args.json:
        about = {"dataset": settings.dataset, "partition": settings.partition, "seed": settings.seed}
        print(json.dumps({**about, "class_names": dataset.class_names, **shown}, indent=2))
    else:
        print("\n".join(_printed(shown, names, title, settings)))
    if args.plot:
        _draw(args.plot, settings, names, title)
        # Where JSON is asked for, a program reads standard output.
        print(f"drawn: {args.plot}", file=sys.stderr if args.json else sys.stdout)
    return 0


def _printed(shown: dict[str, Any], names: list[str], title: str, settings: "Settings") -> list[str]:
    """The lines of the table: a client each, with its training samples by class."""
    splits = list(shown["samples"])
    each = 1 < len(names) <= _MOST_COLUMNS
    header = ["client", *splits, *(names if each else ["classes"] if len(names) > 1 else [])]
    rows = [header]
    for client in shown["clients"]:
        row = [client["name"], *(str(client[split]["samples"]) for split in splits)]
        held = client["train"].get("classes", {})
        if each:
            row += [str(held.get(name, "")) for name in names]
        elif len(names) > 1:
            row.append(", ".join(f"{name} {n}" for name, n in held.items()))
        rows.append(row)
    if "noise" in shown["clients"][0]:
        for row, client in zip(rows, [{"noise": "noise"}, *shown["clients"]], strict=True):
            row.insert(len(splits) + 1, client["noise"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{title}; training samples by class:", ""]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    total = ", ".join(f"{n} {split}" for split, n in shown["samples"].items())
    left = ", ".join(f"{n} {split}" for split, n in shown["left_out"].items()) or "none"
    lines += ["", f"samples: {total}; left out: {left}", f"hash: {shown['hash']}"]
    if settings.trainers < settings.clients:
        lines.insert(-1, f"clients that do not train, the last ones: {settings.clients - settings.trainers}")
    return lines


def _draw(path: Path, settings: "Settings", names: list[str], title: str) -> None:
    from pfedgp_core.data.datasets import dataset_of
    from pfedgp_core.data.partitions.overview import class_counts
    from pfedgp_core.data.simulated import simulated_partition
    from server.report.partition_figure import partition_figure
    from server.run.files import write_whole

    labels = dataset_of(settings).labels["train"]
    drawing = partition_figure(class_counts(simulated_partition(settings), labels, len(names)), names, title)
    svg = path.suffix.lower() == ".svg"
    write_whole(path.expanduser(), drawing.svg_file() if svg else drawing.png())
