"""``pfedgp settings``: every setting with its default and meaning, or what a preset says of them."""

import argparse

from pfedgp.options import add_assignments, add_preset, collect_settings
from pfedgp_core.config_text import describe, parse_assignment
from pfedgp_core.presets import preset_settings
from server.run.settings import dump_settings

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_preset(parser)
    add_assignments(parser)
    parser.add_argument("--toml", action="store_true", help="print a settings file, to edit and give to --config")


def main(args: argparse.Namespace) -> int:
    """Print the settings as a table or as TOML."""
    settings = collect_settings({}, vars(args), args.assignments)
    if args.toml:
        print(dump_settings(settings), end="")
        return 0
    given = dict(map(parse_assignment, args.assignments))
    shown = {**preset_settings(args.preset or "", given), **given}
    values = settings.to_run_config()
    rows = [("setting", "value", "default", "meaning")]
    for key, default, text in describe():
        if not args.preset or key in shown:
            rows.append((key, _text(values[key]), _text(default), text))
    columns = [0, 1, 2, 3] if shown else [0, 2, 3]
    widths = [max(len(row[column]) for row in rows) for column in columns]
    for row in rows:
        print("  ".join(row[column].ljust(width) for column, width in zip(columns, widths, strict=True)).rstrip())
    return 0


def _text(value: object) -> str:
    return repr(value) if value == "" else str(value)
