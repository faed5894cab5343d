"""``pfedgp export``: a site's classifier as an ONNX file, checked against the site's own answers, with its card."""

import argparse
import json
from pathlib import Path

from pfedgp.living.options import add_site_options
from pfedgp.living.reading import add_reading, unlabelled_samples
from pfedgp.predicting.place import require_site
from pfedgp_core.errors import ArtefactError, ConfigError, RunFailedError
from pfedgp_core.files.private import as_private
from pfedgp_core.files.whole import write_whole

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_site_options(parser, changes=False)
    parser.add_argument(
        "--onnx", type=Path, metavar="FILE", required=True, help="file that takes the classifier, .onnx"
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="samples to check the file with (default: random inputs)"
    )
    add_reading(parser)


def main(args: argparse.Namespace) -> int:
    """Write the file and its card; 0 once its answers are the site's own."""
    file, beside = _places(args.onnx)
    require_site(args.site)
    from pfedgp.exporting.onnx_file import require_onnx

    require_onnx()
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp.exporting.card import card, card_text
    from pfedgp.exporting.onnx_file import TOLERANCE, differences, with_metadata, written
    from pfedgp_core.site.saved import SavedSite

    site = SavedSite.load(args.site, tuple(args.allow_network))
    inputs = None if args.data is None else unlabelled_samples(site, args.data, args).inputs
    content = written(site)
    found = differences(site, content, inputs)
    if found.largest > TOLERANCE:
        raise RunFailedError(
            f"The exported classifier differs from the site's own by {found.largest:.1e}, more than {TOLERANCE:g}, so "
            "it is not written: use pfedgp predict or serve."
        )
    about = card(site, found, inputs is not None)
    with as_private():  # it holds features of training samples
        write_whole(file, with_metadata(content, {"pfedgp": json.dumps(about)}))
        write_whole(beside, card_text(about))
    text = (
        f"{file}: the classifier of site {site.name!r}; on {found.inputs} inputs its probabilities differ from the "
        f"site's own by at most {found.probabilities:.1e}\n{beside}: its card"
    )
    print(
        json.dumps(about | {"onnx": str(file), "card": str(beside)}, indent=2, ensure_ascii=False)
        if args.json
        else text
    )
    return 0


def _places(onnx: Path) -> tuple[Path, Path]:
    file = onnx.expanduser()
    if file.suffix != ".onnx":
        raise ConfigError(f"--onnx {onnx} does not end with .onnx: give such a name, the card is beside it as .md.")
    beside = file.with_suffix(".md")
    for path in (file, beside):
        if path.exists():
            raise ArtefactError(f"{path} is there already: remove it, or give --onnx another name.")
    return file, beside
