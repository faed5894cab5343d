"""``pfedgp predict``: a site's classifier on new samples, as CSV. Any number of them takes the same memory.

Texts that a spreadsheet would take for a formula begin with an apostrophe (`pfedgp_core.files.csv_text`).

``id``
    File name below the data's folder, number of the row, counted from 1, or what ``--id-column`` holds there.
``predicted``
    The most probable class; with ``--prior`` by the corrected probabilities.
``p:CLASS``
    Probability of each class of the site at the model's temperature, or that of ``--temperature``; a row sums to 1.
``entropy``, ``epistemic``, ``aleatoric``
    Uncertainty of the posterior (temperature 1) in nats: in all, what more data of the site could remove, and what
    would stay (`uncertainty`). The same at any temperature, as ``predicted`` is.
``abstain``
    1 where the largest of these probabilities is below ``--min-confidence``, or the threshold of ``--risk``, or where
    ``typical`` is below ``--min-typical``, else 0. Samples of classes that the site has never seen are flagged better
    with ``--temperature 1``.
``typical``
    With ``--min-typical``: the share of the site's own samples that are at least as far from the others as this one is
    from all of them; small for what belongs to none of its classes.
``because``, ``without``
    With ``--explain``: ids and weights of the training samples that speak most for the answer, and its probability
    without them (`explanation`).
``set``
    With ``--sets``: the classes of the prediction set, joined by ``;``.
"""

import argparse
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pfedgp.layout_options import add_layout, add_site_label, site_label, site_layout
from pfedgp.living.options import show
from pfedgp.options import add_allow_network
from pfedgp.path_arguments import path_text
from pfedgp.predicting.notes import print_notes
from pfedgp.predicting.place import require_site
from pfedgp.predicting.progress import Progress
from pfedgp.predicting.rule_options import add_rules, check_rules
from pfedgp.predicting.summary import summary, summary_text
from pfedgp.processes.signals import interrupted
from pfedgp.table_options import add_table_options
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.files.whole import explained, replacing
from pfedgp_core.words import counted

if TYPE_CHECKING:
    import numpy as np

    from pfedgp.predicting.rules import Rules
    from pfedgp.predicting.tally import Tally
    from pfedgp_core.data.own.samples import Samples
    from pfedgp_core.site.explanation import Explainer
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.typicality import Typicality

__all__ = ["add_arguments", "main"]

ROWS = 2048  # samples that are read at a time
NOTED = 20  # such parts of which it is said how they were read
OWN = "own"  # value of --temperature


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument(
        "--site", type=Path, metavar="SITE", required=True, help="folder of pfedgp onboard, or STATE/site"
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", required=True, help="new samples: folder of images, .npz, .csv or .parquet"
    )
    parser.add_argument(
        "--out", type=path_text, metavar="FILE", required=True, help="CSV file to write, or - for the standard output"
    )
    parser.add_argument(
        "--min-confidence",
        type=float,
        metavar="P",
        help="flag rows whose largest probability is lower (0 to 1): probabilities are at the model's temperature, "
        "classes that the site has never seen are flagged better at --temperature 1, and the uncertainty columns are "
        "those of the posterior (temperature 1)",
    )
    parser.add_argument(
        "--temperature",
        type=_temperature,
        metavar="T",
        help="temperature of the probabilities, 1 for those of the posterior itself (default: the model's); own = the "
        "one that the site's samples choose, each predicted from all others",
    )
    parser.add_argument(
        "--min-typical",
        type=float,
        metavar="SHARE",
        help="flag rows that are less typical than this share of the site's own samples, such as 0.05: they may belong "
        "to none of its classes",
    )
    parser.add_argument(
        "--prior",
        metavar="P",
        help="shares of the classes where the new samples come from, A=0.1,B=0.9, or balanced: probabilities are "
        "corrected from those of the site's samples to these",
    )
    add_rules(parser)
    parser.add_argument(
        "--explain",
        type=int,
        metavar="N",
        help="name the N training samples that speak most for each answer, with weights, and its probability without "
        "them",
    )
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="refuse a site that stands on another model")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON; the table is in --out")
    parser.add_argument("--resize", action="store_true", help="resize images to the size that the model takes")
    add_site_label(parser)
    add_layout(parser)
    add_table_options(parser)
    add_allow_network(parser)


def main(args: argparse.Namespace) -> int:
    """Write the predictions; 0 once the file is whole."""
    threshold = args.min_confidence
    if threshold is not None and not 0 <= threshold <= 1:
        raise ConfigError(f"--min-confidence {threshold:g} is no probability: give a number from 0 to 1.")
    if args.min_typical is not None and not 0 <= args.min_typical <= 1:
        raise ConfigError(f"--min-typical {args.min_typical:g} is no share: give a number from 0 to 1, such as 0.05.")
    _check_temperature(args.temperature)
    check_rules(args)
    out = None if args.out == "-" else Path(args.out).expanduser()
    if args.json and out is None:
        raise ConfigError("--json answers on the standard output, where the table would be: give --out a file.")
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise ArtefactError(f"Cannot write {out}: give the name of a file in a folder that exists.")
    require_site(args.site)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp.predicting.rules import prediction_rules
    from pfedgp.predicting.tally import Tally
    from pfedgp_core.site.saved import SavedSite

    site = SavedSite.load(args.site, tuple(args.allow_network))
    if args.model is not None:
        _require_model(site, args.site, args.model)
    if args.temperature == OWN:
        from pfedgp_core.site.own_temperature import own_temperature

        args.temperature = own_temperature(site)
    temperature = site.model.temperature if args.temperature is None else args.temperature
    rules = prediction_rules(site, args, float(temperature))
    tally = Tally(site, rules.threshold or 0.0, least=args.min_typical or 0.0)
    args.typicality = None if args.min_typical is None else _typicality(site, args.min_typical)
    args.weights = None if args.prior is None else _weights(site, args.prior)
    args.explainer = None if args.explain is None else _explainer(site, args)
    with interrupted():
        _predict(site, args, tally, rules, out)
    about = summary(site, tally, float(temperature), args, rules, out)
    if args.json:
        show(about, "", as_json=True)
    else:  # on the standard error, so that the standard output holds nothing but CSV
        print(summary_text(about), file=sys.stderr, flush=True)
    return 0


def _predict(site: "SavedSite", args: argparse.Namespace, tally: "Tally", rules: "Rules", out: Path | None) -> None:
    """Write the table to the file, or the standard output, once it is whole."""
    if out is None:
        with tempfile.TemporaryFile() as file:
            _write(file, Path(tempfile.gettempdir()), site, args, tally, rules)
            file.seek(0)
            for text in io.TextIOWrapper(file, "utf-8", newline=""):
                sys.stdout.write(text)
        sys.stdout.flush()
    else:
        with replacing(out) as file:
            _write(file, out, site, args, tally, rules)


def _write(
    file: BinaryIO, where: Path, site: "SavedSite", args: argparse.Namespace, tally: "Tally", rules: "Rules"
) -> None:
    """Write the table of all predictions a part at a time; DataError where a part of the data cannot be used."""
    from pfedgp.predicting.table import header_line, prediction_lines
    from pfedgp_core.data.own.blocks import read_blocks
    from pfedgp_core.site.data_notes import data_notes
    from pfedgp_core.site.streamed import predictions

    share, progress = 0.0, Progress("predictions")
    blocks = 0

    def samples() -> Iterator["Samples"]:
        nonlocal share, blocks
        for block, reached in read_blocks(
            args.data,
            input_shape=site.model.prepare().input_shape,
            resize=args.resize,
            label_column=site_label(args, site),
            rows=ROWS,
            layout=site_layout(args, site),
        ):
            share = reached
            if not blocks:
                print_notes(data_notes(site, block), f"by the first {counted(len(block), 'sample')}")
            elif blocks < NOTED:
                print_notes(block.notes, "by later samples")
            blocks += 1
            yield block

    begun = False
    for predicted in predictions(site, samples(), args.temperature, args.weights, args.typicality, args.explainer):
        text = prediction_lines(site.class_names, predicted, tally.threshold, tally.least, rules.sets)
        with explained(where):
            asked = (part is not None for part in (args.typicality, rules.sets, args.explainer))
            names = header_line(site.class_names, *asked)
            file.write((text if begun else names + text).encode())
        begun = True
        tally.add(predicted)
        progress.show(tally.samples, share)


def _explainer(site: "SavedSite", args: argparse.Namespace) -> "Explainer":
    from pfedgp_core.site.explanation import Explainer

    if not any(origin.id for origin in site.samples.origins):
        raise ConfigError(
            f"The site {site.name!r} was made by a former version and knows no ids, which --explain names: make it "
            "again from its data with pfedgp onboard --refresh."
        )
    return Explainer(site, args.explain, args.temperature, args.weights)


def _typicality(site: "SavedSite", share: float) -> "Typicality":
    from pfedgp_core.site.typicality import Typicality

    found = Typicality.of(site)
    notes = []
    if found.smallest >= share > 0:
        notes.append(
            f"The site has {len(found.left_out)} different samples, too few to call anything less typical than "
            f"{share:g} of them: nothing is flagged by that; give --min-typical above {found.smallest:.3g}."
        )
    if site.took_part:
        notes.append(
            "The site took part in training its model, whose features know its samples: more new ones are flagged."
        )
    print_notes(notes, "by the site's samples")
    return found


def _weights(site: "SavedSite", prior: str) -> "np.ndarray":
    from pfedgp_core.site.prior import prior_weights

    counts = list(site.samples.counts(site.model.class_names).values())
    if site.model.settings.class_weights != "none":  # its nodes answer for equal shares already
        counts = [1] * len(counts)
    return prior_weights(prior, site.class_names, counts)


def _temperature(text: str) -> float | str:
    return OWN if text == OWN else float(text)


def _check_temperature(temperature: float | str | None) -> None:
    from pfedgp_core.metrics.calibration import TEMPERATURE_LIMITS, is_temperature

    if isinstance(temperature, float) and not is_temperature(temperature):
        low, high = TEMPERATURE_LIMITS
        raise ConfigError(
            f"--temperature {temperature:g} cannot be: give a number from {low:g} to {high:g}, or leave it out for the "
            "model's own."
        )


def _require_model(site: "SavedSite", path: Path, model: Path) -> None:
    from pfedgp.run_model import read_model

    expected = read_model(model)[0].sha256
    if site.model.sha256 != expected:
        raise ConfigError(
            f"The site at {path} stands on the model {site.model.sha256[:12]}, and {model} is {expected[:12]}: run "
            "pfedgp onboard --refresh with this model, or leave out --model."
        )
