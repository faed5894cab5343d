"""``pfedgp check-data``: the content of a site's own data, and everything that prevents their use."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.bundles.download import is_bundle
from pfedgp.layout_options import add_layout, layout_from
from pfedgp.living.labels import add_label_check, check_labels
from pfedgp.options import add_column_key, column_key
from pfedgp.path_arguments import path_text
from pfedgp.table_options import add_table_options
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.files.whole import replacing
from pfedgp_core.registry import DATASETS

if TYPE_CHECKING:
    from pfedgp_core.data.own.check import DataReport

__all__ = ["NOT_COMPARED", "add_arguments", "main"]

NOT_COMPARED = (
    "They were not compared with a model: --model RUN/best says whether pfedgp onboard takes them, by shape, columns, "
    "classes and scale. Nor with the data of other sites: a run refuses those that differ from most in shape, in a "
    "table's columns, or in scale, and says so."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        help="folder of images by class, .npz, .csv, .parquet, a folder of splits, or the name of a built-in data set",
    )
    parser.add_argument(
        "--data-root", type=path_text, metavar="FOLDER", help="folder of a built-in data set that has files"
    )
    parser.add_argument(
        "--label-column", default="label", metavar="NAME", help="column of a table with the class (default: label)"
    )
    add_table_options(parser)
    parser.add_argument(
        "--regression", action="store_true", help="the labels are targets of a regression (task = regression)"
    )
    compared = parser.add_mutually_exclusive_group()
    compared.add_argument(
        "--input-shape", default="", metavar="C,H,W", help="resize images as a run with this setting input-shape does"
    )
    compared.add_argument(
        "--model",
        type=path_text,
        metavar="MODEL",
        help="compare shape, columns, classes and scale with a model: best or final of a run, or with --key a bundle",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings of the run, for its [data.columns]")
    parser.add_argument(
        "--rules",
        type=path_text,
        metavar="FILE",
        help="write a draft of [data.columns] for a table, - for the standard output",
    )
    parser.add_argument(
        "--key", type=Path, metavar="FILE", help="public key of the one who signed the bundle, Ed25519 in PEM"
    )
    add_layout(parser)
    add_column_key(parser)
    add_label_check(parser)


def main(args: argparse.Namespace) -> int:
    """Print the report; 2 if the data cannot be used."""
    if (args.path is None) == (args.site is None):
        raise ConfigError("Give either the PATH of data, or a site with --site.")
    if args.site is not None:
        return check_labels(args)
    if args.json:
        raise ConfigError("--json belongs to --site: leave it out.")
    if args.allow_network:
        raise ConfigError("--allow-network belongs to --site: leave it out, as a comparison builds no network.")
    from pfedgp_core.column_rules import FEDERATED
    from pfedgp_core.config import Settings
    from pfedgp_core.data.own.reader import check_data
    from pfedgp_core.data.own.wanted_columns import WantedColumns
    from pfedgp_core.data.spec import parse_shape
    from pfedgp_core.site.data_needs import memory_notes
    from server.run.settings import read_settings_file

    if args.key is not None and args.model is None:
        raise ConfigError("--key verifies a bundle: give its file or address with --model.")
    if args.key is None and args.model is not None and is_bundle(args.model):
        raise ConfigError(f"{args.model} is a bundle: give the public key of the one who signed it with --key.")
    if args.config is not None and args.model is not None:
        raise ConfigError("--model has settings of its own: leave out --config.")
    names, shape, columns, moments, values = None, parse_shape(args.input_shape), None, None, ""
    settings = Settings() if args.config is None else Settings.from_run_config(read_settings_file(args.config))
    if args.model is not None:
        from pfedgp.run_model import read_bundle, read_model

        model, _ = read_model(Path(args.model)) if args.key is None else read_bundle(args.model, args.key)
        names, shape, values = model.class_names, model.input_shape, model.value_range
        columns, moments = WantedColumns(model.columns, column_key(args)), (model.mean, model.std)
        settings = model.settings
    agrees = settings.column_rules_from == FEDERATED
    report = check_data(
        args.path,
        label_column=args.label_column,
        class_names=names,
        input_shape=shape,
        resize=bool(args.input_shape),
        data_root=args.data_root or "",
        regression=args.regression or (args.path in DATASETS and DATASETS[args.path].task == "regression"),
        layout=replace(layout_from(args, columns, values), rules=settings.column_rules, agrees=agrees),
        moments=moments,
    )
    print(report.text())
    compared = args.model is not None or args.path in DATASETS or not report.trainable
    for note in [*memory_notes(report, settings), *([] if compared else [NOT_COMPARED])]:
        print(note)
    if agrees:
        _print_told(args, settings.column_rules)
    if args.rules is not None:
        _write_rules(args.rules, report)
    return 0 if report.trainable else 2


def _print_told(args: argparse.Namespace, rules: str) -> None:
    """Print what a run whose sites agree on rules is told of a table; nothing of other data."""
    from pfedgp_core.data.own.raw_table import read_table
    from pfedgp_core.data.tables.summary import FEWEST, TableSummary
    from pfedgp_core.data.tables.told import told_lines

    table = read_table(args.path, args.label_column, replace(layout_from(args), rules=rules))
    if table is not None and len(table.columns):
        print(*told_lines(TableSummary.of("", table.columns), FEWEST), sep="\n")


def _write_rules(where: str, report: "DataReport") -> None:
    """Write the draft for the columns of the first part."""
    text = next((part.rules for part in report.splits if part.rules), "")
    if not text:
        raise DataError(f"{report.path} is no table whose columns can be read: --rules drafts rules for tables.")
    if where == "-":
        print(text, end="")
        return
    file = Path(where).expanduser()
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise ArtefactError(f"Cannot write {file}: give the name of a file in a folder that exists.")
    with replacing(file) as opened:
        opened.write(text.encode())
    print(f"A draft of rules for the columns is in {file}: complete it, and check it with --config {file}")
