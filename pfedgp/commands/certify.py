"""``pfedgp certify``: an upper bound on the error of a site's classifier that holds with probability 1 - delta.

``--method progressive``, ``pac-bayes`` and ``data-prior`` stand on the site's own samples, and need a model that never
saw these; ``--method held-out`` needs labelled samples that were kept out of everything. Without ``--method`` one is
chosen, with its reason. docs/certificate.md says what is proved under which conditions.
"""

import argparse
import json
from pathlib import Path

from pfedgp.certifying.choice import METHODS, choose_method
from pfedgp.layout_options import add_layout, add_site_label
from pfedgp.options import add_allow_network
from pfedgp.table_options import add_table_options
from pfedgp_core.errors import ConfigError

__all__ = ["add_arguments", "main"]

DEFAULT_DELTA = 0.01

# Beyond these a certificate says nothing, or its number has no digit that holds.
DELTA_LIMITS = (1e-12, 0.5)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--site", type=Path, metavar="SITE", required=True, help="folder that pfedgp onboard wrote")
    parser.add_argument(
        "--delta",
        type=float,
        default=DEFAULT_DELTA,
        metavar="P",
        help=f"probability that the certificate may be wrong (default: {DEFAULT_DELTA})",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="kind of proof (default: held-out with --data, pac-bayes with --classes, else progressive)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help="labelled samples kept out of everything; of groups such as patients that the site has none of (held-out)",
    )
    parser.add_argument(
        "--unlabelled",
        type=Path,
        metavar="PATH",
        help="further inputs of the same population, without labels: the bound on the deployed classifier needs them "
        "(progressive, data-prior)",
    )
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="I assert: this site's data were never used to train or select the model (all methods but held-out)",
    )
    parser.add_argument(
        "--classes", metavar="A,B", help="the site's classes, if fixed before its data were seen (pac-bayes)"
    )
    parser.add_argument(
        "--repeats-are-genuine",
        action="store_true",
        help="I assert: samples that equal each other were drawn independently",
    )
    parser.add_argument(
        "--resize", action="store_true", help="resize images of --data or --unlabelled to the size of the model"
    )
    add_site_label(parser)
    add_layout(parser)
    add_table_options(parser)
    add_allow_network(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def main(args: argparse.Namespace) -> int:
    """Print the certificate; 0 once there is one, an error with the reason where there is none."""
    method, reason = choose_method(args)
    _check(args, method)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp.certifying.proofs import PROOFS
    from pfedgp.certifying.text import certificate_text
    from pfedgp_core.certificate.advice import advice
    from pfedgp_core.site.saved import SavedSite

    site = SavedSite.load(args.site, tuple(args.allow_network))
    result = {
        **PROOFS[method](site, args),
        "site": site.name,
        "model_sha256": site.model.sha256,
        "data_sha256": site.samples.sha256,
        "temperature": site.model.temperature,
        "classes": list(site.class_names),
        "reason": reason,
    }
    result["advice"] = advice(result)
    print(json.dumps(result, indent=2, ensure_ascii=False) if args.json else certificate_text(result))
    return 0


def _check(args: argparse.Namespace, method: str) -> None:
    low, high = DELTA_LIMITS
    if not low <= args.delta <= high:
        raise ConfigError(f"--delta {args.delta:g} is not from {low:g} to {high:g}: give for example 0.01.")
    if method == "held-out" and args.data is None:
        raise ConfigError("--method held-out needs samples that were kept out of everything: give them with --data.")
    if method != "held-out" and args.data is not None:
        raise ConfigError(f"--data belongs to --method held-out: {method} certifies on the site's own samples.")
    if method == "held-out" and args.unseen:
        raise ConfigError("--unseen belongs to --method progressive, pac-bayes and data-prior: leave it out.")
    if method != "pac-bayes" and args.classes is not None:
        raise ConfigError("--classes belongs to --method pac-bayes: leave it out.")
    if method not in {"progressive", "data-prior"} and args.unlabelled is not None:
        raise ConfigError("--unlabelled belongs to --method progressive and data-prior: leave it out.")
