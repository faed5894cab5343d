"""``pfedgp settings``: every setting with its default and meaning."""

import argparse

from pfedgp_core.config import Settings
from pfedgp_core.config_text import describe
from server.run.settings import dump_settings

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--toml", action="store_true", help="print a settings file, to edit and give to --config")


def main(args: argparse.Namespace) -> int:
    """Print the settings as a table or as TOML."""
    if args.toml:
        print(dump_settings(Settings()), end="")
        return 0
    rows = [(key, repr(default) if default == "" else str(default), text) for key, default, text in describe()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    print(f"{'setting':<{widths[0]}}  {'default':<{widths[1]}}  meaning")
    for key, default, text in rows:
        print(f"{key:<{widths[0]}}  {default:<{widths[1]}}  {text}")
    return 0
