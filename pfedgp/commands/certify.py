"""``pfedgp certify``: an upper bound on the error of a site's classifier that holds with probability 1 - delta.

``--method pac-bayes`` needs no further data, but a model that never saw the site's. ``--method held-out`` needs
labelled samples that were kept out of everything. docs/certificate.md says what is proved under which conditions.
"""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.layout_options import add_layout, layout_from
from pfedgp.options import add_allow_network
from pfedgp.predicting.notes import print_notes
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import counted, few

if TYPE_CHECKING:
    from pfedgp_core.site.saved import SavedSite

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
        "--method", choices=("pac-bayes", "held-out"), default="pac-bayes", help="kind of proof (default: pac-bayes)"
    )
    parser.add_argument("--data", type=Path, metavar="PATH", help="labelled samples kept out of everything (held-out)")
    parser.add_argument(
        "--unseen",
        action="store_true",
        help="I assert: this site's data were never used to train or select the model (pac-bayes)",
    )
    parser.add_argument(
        "--classes", metavar="A,B", help="the site's classes, if fixed before its data were seen: a smaller bound"
    )
    parser.add_argument(
        "--repeats-are-genuine",
        action="store_true",
        help="I assert: samples that equal each other were drawn independently",
    )
    parser.add_argument("--resize", action="store_true", help="resize images of --data to the size of the model")
    parser.add_argument(
        "--label-column", default="label", metavar="NAME", help="column of a table with the class (default: label)"
    )
    add_layout(parser)
    add_allow_network(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def main(args: argparse.Namespace) -> int:
    """Print the certificate; 0 once there is one, an error with the reason where there is none."""
    _check(args)
    import torch

    torch.set_num_threads(1)  # small matrices are several times slower on more
    from pfedgp_core.site.saved import SavedSite

    site = SavedSite.load(args.site, tuple(args.allow_network))
    about = {
        "site": site.name,
        "model_sha256": site.model.sha256,
        "data_sha256": site.samples.sha256,
        "temperature": site.model.temperature,
        "classes": list(site.class_names),
    }
    found = _held_out(site, args) if args.method == "held-out" else _pac_bayes(site, args)
    result = {**found, **about}
    print(json.dumps(result, indent=2, ensure_ascii=False) if args.json else _text(result))
    return 0


def _check(args: argparse.Namespace) -> None:
    low, high = DELTA_LIMITS
    if not low <= args.delta <= high:
        raise ConfigError(f"--delta {args.delta:g} is not from {low:g} to {high:g}: give for example 0.01.")
    if args.method == "held-out" and args.data is None:
        raise ConfigError("--method held-out needs samples that were kept out of everything: give them with --data.")
    if args.method == "held-out" and (args.classes is not None or args.unseen):
        raise ConfigError("--classes and --unseen belong to --method pac-bayes: leave them out.")
    if args.method == "pac-bayes" and args.data is not None:
        raise ConfigError("--data belongs to --method held-out: pac-bayes certifies on the site's own samples.")


def _pac_bayes(site: "SavedSite", args: argparse.Namespace) -> dict[str, Any]:
    from pfedgp_core.certificate.classifier import NoCertificateError, certify_classifier
    from pfedgp_core.data.own.class_ids import map_classes

    if site.took_part:
        raise NoCertificateError(
            f"A client named {site.name!r} took part in training this model, so the site's own samples prove nothing "
            "about its error: certify on held-out data (--method held-out --data PATH)."
        )
    if not args.unseen:
        raise NoCertificateError(
            f"It is not known whether data of the site {site.name} helped to train or select its model: give --unseen "
            "if they never did, or certify on held-out data (--method held-out --data PATH)."
        )
    repeated = site.samples.repeated()
    if repeated and not args.repeats_are_genuine:
        raise NoCertificateError(
            f"{repeated} of the {len(site.samples)} samples equal another one, and copies are not independent: make "
            "the site again without them, or give --repeats-are-genuine if each is a sample of its own."
        )
    names = site.model.class_names
    fixed = None if args.classes is None else map_classes(args.classes.split(","), names).tolist()
    if fixed is not None and sorted(fixed) != site.classifier.classes_.tolist():
        raise NoCertificateError(
            f"The classes fixed in advance are {args.classes}, those of the site's samples "
            f"{','.join(site.class_names)}: leave out --classes, so that the certificate pays for the choice."
        )
    certificate = certify_classifier(site.classifier, site.samples.labels, len(names), args.delta, fixed)
    result = certificate.to_dict()
    result["unseen"] = "asserted by the operator"
    result["repeated_samples"] = repeated
    return result


def _held_out(site: "SavedSite", args: argparse.Namespace) -> dict[str, Any]:
    from pfedgp_core.certificate.classifier import NoCertificateError
    from pfedgp_core.certificate.held_out import certify_held_out
    from pfedgp_core.data.own.class_ids import to_split
    from pfedgp_core.data.own.reader import read_samples
    from pfedgp_core.data.own.wanted_columns import WantedColumns
    from pfedgp_core.site.data_notes import data_notes
    from pfedgp_core.site.samples import sample_digests

    samples = read_samples(
        args.data,
        input_shape=site.model.prepare().input_shape,
        resize=args.resize,
        label_column=args.label_column,
        layout=layout_from(args, WantedColumns(site.columns, whose=f"the site {site.name}"), site.model.value_range),
    )
    split = to_split(samples, site.model.class_names)
    digests = [row.tobytes() for row in sample_digests(split, site.model.class_names)]
    fitted = {row.tobytes() for row in site.samples.digests}
    known, copies = sum(digest in fitted for digest in digests), len(digests) - len(set(digests))
    if (known or copies) and not args.repeats_are_genuine:
        what = f"equal samples that the site was fitted on ({known})" if known else f"equal each other ({copies})"
        raise NoCertificateError(
            f"Some of the {len(digests)} samples in {args.data} {what}, so they are not held out and independent: "
            "remove them all, or give --repeats-are-genuine if each is a sample of its own."
        )
    print_notes(data_notes(site, samples), f"by all {counted(len(samples), 'sample')}")
    predicted = site.classifier.classes_[site.predict(split.inputs).predicted]
    result = certify_held_out(predicted, split.labels, args.delta).to_dict()
    result["repeated_samples"] = known + copies
    return result


def _text(result: dict[str, Any]) -> str:
    count = len(result["classes"])
    lines = [
        (
            f"Certificate of site {result['site']}: {few(result['classes'], 20)}; {result['n']} samples, "
            f"method {result['method']}, delta {result['delta']:g}"
        ),
        "",
        f"{'':<44}{'on the samples':>16}{'certified: at most':>21}",
    ]
    rows = {
        "deployed": "error of the deployed classifier",
        "wrong_probability": "probability it gives to wrong classes",
        "gibbs": "error of the Gibbs classifier",
        "gibbs_vote": "error of the Gibbs classifier's vote",
    }
    for key, label in rows.items():
        if key in result:
            lines.append(f"{label:<44}{result[key]['empirical']:>16.1%}{_up(result[key]['bound']):>21}")
    if result["deployed"]["bound"] >= 1 - 1 / max(count, 2):
        lines += ["", "The bound on the deployed classifier says no more than chance: it is true, and of no use."]
    if "kl" in result:
        price = result["price_tree"] + result["price_classes"]
        lines += ["", f"KL {result['kl']:.2f} nats, and {price:.2f} for a tree and classes read off the samples."]
        differs = result["deployed"]["differs_from_predict"]
        lines.append(
            "Covered is the arg max of the exact probabilities; the site's own answer differs from it on "
            f"{differs:.1%} of the samples, the Gibbs vote's on {result['gibbs_vote']['differs_from_predict']:.1%}."
        )
        if result["temperature"] != 1:
            lines.append(
                "The probability of wrong classes is that at temperature 1, not at the site's "
                f"{result['temperature']:g}; the answers, and so their error, are the same at both."
            )
        lines.append(f"That the model never saw this site's data is {result['unseen']}.")
    lines += ["", "True with probability at least 1 - delta, provided that:"]
    lines += [f"  {i}. {condition}" for i, condition in enumerate(result["conditions"], start=1)]
    return "\n".join(lines)


def _up(bound: float) -> str:
    """In percent, rounded upwards: a bound that is printed smaller is no bound."""
    return f"{min(100.0, -(-bound * 1000 // 1) / 10):.1f}%"
