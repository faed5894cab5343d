"""The threshold and the prediction sets of ``pfedgp predict``, and what each of them stands on."""

import argparse
import filecmp
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pfedgp.predicting.federation_bins import FederationBins
from pfedgp.predicting.kept_out import held_out_samples
from pfedgp.predicting.rule_options import DEFAULT_DELTA
from pfedgp_core.certificate.conformal import SetRule, fit_sets
from pfedgp_core.certificate.selective import choose_threshold, from_bins, from_confidences
from pfedgp_core.errors import ConfigError
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.metrics.temperature import temperature_scale

if TYPE_CHECKING:
    from pfedgp_core.site.saved import SavedSite

__all__ = ["Rules", "prediction_rules"]


@dataclass(frozen=True)
class Rules:
    """How probabilities become answers.

    Attributes
    ----------
    threshold : float or None
        Largest probability below which a sample is not answered; None where all are.
    sets : SetRule or None
    notes : tuple of str
        What is guaranteed, and by what.
    """

    threshold: float | None
    sets: SetRule | None = None
    notes: tuple[str, ...] = ()


class _Known(NamedTuple):
    """Probabilities [n, k] of samples whose column of the true class [n] is known, -1 for none; what they are."""

    probabilities: np.ndarray
    columns: np.ndarray
    whose: str = "samples"

    @property
    def confidence(self) -> np.ndarray:
        confidence: np.ndarray = self.probabilities.max(axis=1)
        return confidence

    @property
    def wrong(self) -> np.ndarray:
        wrong: np.ndarray = self.probabilities.argmax(axis=1) != self.columns
        return wrong


def prediction_rules(site: "SavedSite", args: argparse.Namespace, temperature: float) -> Rules:
    """The rules that the options ask for, at the temperature of the probabilities that are written.

    Raises
    ------
    DataError
        No threshold keeps the risk, or the calibration data cannot be used.
    ConfigError
        Sets from the own samples of a site that took part in the training.
    """
    if args.risk is None and args.sets is None:
        return Rules(args.min_confidence)
    federated = args.calibration is not None and args.calibration.suffix == ".json"
    kept = None
    if args.calibration is not None and not federated:
        data = held_out_samples(site, args.calibration, args)
        columns = label_columns(site.classifier.classes_, data.labels)
        whose = "samples" if data.samples is None else f"samples, one of each group of {data.samples},"
        kept = _Known(site.predict(data.inputs, temperature).probabilities, columns, whose)
    threshold, notes = args.min_confidence, []
    if args.risk is not None:
        threshold, note = _threshold(site, args, temperature, kept)
        notes.append(note)
    sets = None
    if args.sets is not None:
        sets, note = _sets(site, args, temperature, kept)
        notes.append(note)
    if kept is not None and _same(args.calibration, args.data):
        notes.append(
            "The samples are those of --calibration, by which this was found: how often it is right on them is no test."
        )
    return Rules(threshold, sets, tuple(notes))


def _threshold(
    site: "SavedSite", args: argparse.Namespace, temperature: float, kept: _Known | None
) -> tuple[float, str]:
    delta = DEFAULT_DELTA if args.delta is None else args.delta
    if kept is None:
        bins = FederationBins.read(args.calibration, temperature)
        candidates, samples = from_bins(bins.tested, bins.reference, delta), bins.tested.n
        whose = "test samples of the federation as a whole, not of this site by itself"
        if site.model.participants and not site.took_part:
            whose += (
                f"; no site named {site.name!r} trained this model, so it holds here if these samples are like theirs"
            )
    else:
        known = _left_out(site, temperature)
        reference = known.confidence, known.wrong
        candidates, samples = from_confidences(kept.confidence, kept.wrong, reference, delta), len(kept.columns)
        whose = f"kept-out {kept.whose} of this site"
    rule = choose_threshold(candidates, samples, args.risk, delta)
    return rule.threshold, (
        f"From confidence {rule.threshold:.4g} on at most {args.risk:.3g} of the answers are wrong, with probability "
        f"{1 - delta:.3g}: {rule.wrong} of {rule.answered} were, of {samples} {whose}."
    )


def _sets(site: "SavedSite", args: argparse.Namespace, temperature: float, kept: _Known | None) -> tuple[SetRule, str]:
    if kept is None and site.took_part:
        raise ConfigError(
            f"The site {site.name!r} took part in the training of its model, whose features know its samples: give "
            "labelled samples that were kept out of it with --calibration."
        )
    known = kept or _left_out(site, temperature)
    rule = fit_sets(known.probabilities, known.columns, args.sets, args.sets_by_class)
    each = ", each class by itself" if args.sets_by_class else ""
    how = (
        "proved for samples of the same population"
        if kept is not None
        else "an estimate without proof, each sample predicted from all others"
    )
    by = f"by {len(known.columns)} {known.whose.rstrip(',')}: {how}"
    return rule, f"Sets hold the true class with probability {args.sets:.3g}{each}, {by}."


def _left_out(site: "SavedSite", temperature: float) -> _Known:
    """The site's own samples, each predicted from all others."""
    probabilities = np.exp(site.classifier.leave_one_out_log_proba())
    columns = label_columns(site.classifier.classes_, site.samples.labels)
    return _Known(temperature_scale(probabilities / probabilities.sum(axis=1, keepdims=True), temperature), columns)


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are of the same folder, or of files with the same content."""
    if one.is_file() and other.is_file():
        return filecmp.cmp(one, other, shallow=False)
    return one.resolve() == other.resolve()
