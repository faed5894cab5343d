"""What ``pfedgp predict`` says of a table that it has written: a sentence for a person, or one object of JSON."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp_core.words import counted

if TYPE_CHECKING:
    from pfedgp.predicting.rules import Rules
    from pfedgp.predicting.tally import Tally
    from pfedgp_core.site.saved import SavedSite

__all__ = ["summary", "summary_text"]


def summary(
    site: "SavedSite", tally: "Tally", temperature: float, args: argparse.Namespace, rules: "Rules", out: Path | None
) -> dict[str, Any]:
    """The summary as JSON; ``docs/after-training.md`` lists its fields.

    Parameters
    ----------
    site : SavedSite
    tally : Tally
        Over all predictions.
    temperature : float
        Of the probabilities.
    args : argparse.Namespace
        Of the verb.
    rules : Rules
    out : Path or None
        The table; None: the standard output.
    """
    abstains = rules.threshold is not None or args.min_typical is not None
    return {
        "format": "pfedgp-predictions",
        "schema_version": 1,
        "site": site.name,
        "model_sha256": site.model.sha256,
        "data_sha256": site.samples.sha256,
        "classes": list(site.class_names),
        "samples": tally.samples,
        "temperature": float(temperature),
        "model_temperature": site.model.temperature,
        "prior": args.prior,
        "threshold": rules.threshold,
        "abstained": tally.doubtful if abstains else None,
        "accuracy": tally.accuracy(),
        "answered_accuracy": tally.accuracy(answered=True) if abstains else None,
        "notes": list(rules.notes),
        "out": None if out is None else str(out),
    }


def summary_text(about: dict[str, Any]) -> str:
    """The same for a person."""
    own, temperature = about["model_temperature"], about["temperature"]
    parts = [f"{counted(about['samples'], 'prediction')} of site {about['site']!r} at temperature {temperature:g}"]
    if temperature != own:
        parts[0] += f" (the model's is {own:g})"
    if about["prior"] is not None:
        parts.append(f"corrected to the prior {about['prior']}")
    if about["abstained"] is not None:
        parts.append(f"{about['abstained']} to abstain from")
    if about["accuracy"] is not None:
        parts.append(f"accuracy {about['accuracy']:.1%} by the data's own labels{_of_answered(about)}")
    if len(about["classes"]) == 1:
        parts.append(f"all {about['classes'][0]!r}, the only class of the site")
    where = "" if about["out"] is None else f"; saved in {about['out']}"
    return "\n".join([", ".join(parts) + where, *about["notes"]])


def _of_answered(about: dict[str, Any]) -> str:
    """The accuracy of the answers that are given, where some are not."""
    if not about["abstained"] or about["answered_accuracy"] is None:
        return ""
    return f" ({about['answered_accuracy']:.1%} of the {about['samples'] - about['abstained']} not abstained from)"
