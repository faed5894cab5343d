"""``pfedgp check-data --site``: samples of a site whose labels the other samples contradict."""

import argparse
from pathlib import Path
from typing import Any

from pfedgp.living.options import show
from pfedgp.living.reading import copies_notes
from pfedgp.options import add_allow_network
from pfedgp.path_arguments import path_text
from pfedgp.predicting.notes import print_notes
from pfedgp.predicting.place import require_site
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.csv_text import csv_lines
from pfedgp_core.words import counted

__all__ = ["add_label_check", "check_labels"]

SHOWN = 20


def add_label_check(parser: argparse.ArgumentParser) -> None:
    """Declare ``--site``, ``--most``, ``--json`` and ``--allow-network``."""
    parser.add_argument(
        "--site",
        type=path_text,
        metavar="SITE",
        help="in place of PATH: look for wrong labels among the samples of this site",
    )
    parser.add_argument(
        "--most", type=int, default=SHOWN, metavar="N", help=f"with --site: samples to list (default: {SHOWN})"
    )
    parser.add_argument("--json", action="store_true", help="with --site: print everything as JSON")
    add_allow_network(parser)


def check_labels(args: argparse.Namespace) -> int:
    """List the most suspicious samples; 0 also where there are some, as a person has to decide."""
    if args.most < 1:
        raise ConfigError(f"--most {args.most} is no number of samples: give one from 1.")
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp_core.site.label_errors import suspects
    from pfedgp_core.site.saved import SavedSite

    path = Path(args.site)
    require_site(path)
    site = SavedSite.load(path, tuple(args.allow_network))
    found, names = suspects(site), site.model.class_names
    print_notes(copies_notes(site, "a wrong label that its copy has too is not found"), "on the site")
    listed = min(args.most, found.contradicted)
    samples = [
        {
            "id": site.samples.origins[row].id,
            "class": names[int(site.samples.labels[row])],
            "likeliest": names[int(likeliest)],
            "probability": float(probability),
        }
        for row, probability, likeliest in zip(found.rows[:listed], found.probability, found.likeliest, strict=False)
    ]
    result = {
        "format": "pfedgp-label-check",
        "schema_version": 1,
        "site": site.name,
        "checked": len(site.samples),
        "contradicted": found.contradicted,
        "took_part": site.took_part,
        "samples": samples,
    }
    show(result, _text(result), args.json)
    return 0


def _text(result: dict[str, Any]) -> str:
    checked = counted(result["checked"], "sample")
    lines = [
        f"Site {result['site']!r}: of {checked} the others give the own label of {result['contradicted']} less than "
        "half, the most doubtful first:"
        if result["contradicted"]
        else f"Site {result['site']!r}: the others give every label of {checked} at least half."
    ]
    if result["took_part"]:
        lines.append("The site took part in the training, whose features know its labels: wrong ones are hard to see.")
    if result["samples"]:
        lines.append("id,class,likeliest,probability")
        lines += [
            csv_lines([[one["id"], one["class"], one["likeliest"], f"{one['probability']:.3g}"]]).rstrip("\n")
            for one in result["samples"]
        ]
    return "\n".join(lines)
