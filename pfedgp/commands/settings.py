"""``pfedgp settings``: every setting with its default and meaning, or what a preset says of them."""

import argparse

from pfedgp.collecting import collect
from pfedgp.options import add_assignments, add_preset
from pfedgp_core.config_text import describe, parse_assignment
from pfedgp_core.presets import AUTO, preset_settings
from server.run.settings import dump_settings

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_preset(parser)
    add_assignments(parser)
    parser.add_argument("--toml", action="store_true", help="print a settings file, to edit and give to --config")


def main(args: argparse.Namespace) -> int:
    """Print the settings as a table or as TOML."""
    settings, notes = collect({}, vars(args), args.assignments)
    if args.toml:
        print("".join(f"# {note}\n" for note in notes) + dump_settings(settings), end="")
        return 0
    given = dict(map(parse_assignment, args.assignments))
    shown = {**preset_settings(args.preset or AUTO, given), **given}
    values = settings.to_run_config()
    rows = [("setting", "value", "default", "meaning")]
    for key, default, text in describe():
        if not args.preset or key in shown:
            rows.append((key, _text(values[key]), _text(default), text))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for note in notes:
        print(note)
    return 0


def _text(value: object) -> str:
    return repr(value) if value == "" else str(value)
