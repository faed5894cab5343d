"""The proofs of ``pfedgp certify``, each from a saved site to a certificate's fields."""

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from pfedgp.certifying.evidence import require_unseen
from pfedgp.predicting.kept_out import held_out_samples, unlabelled_inputs

if TYPE_CHECKING:
    from pfedgp_core.certificate.progressive import Answers
    from pfedgp_core.site.saved import SavedSite

__all__ = ["PROOFS"]

ASSERTED = "asserted by the operator"


def _pac_bayes(site: "SavedSite", args: argparse.Namespace) -> dict[str, Any]:
    from pfedgp_core.certificate.classifier import NoCertificateError, certify_classifier
    from pfedgp_core.data.own.class_ids import map_classes

    repeated = require_unseen(site, args)
    names = site.model.class_names
    fixed = None if args.classes is None else map_classes(args.classes.split(","), names).tolist()
    if fixed is not None and sorted(fixed) != site.classifier.classes_.tolist():
        raise NoCertificateError(
            f"The classes fixed in advance are {args.classes}, those of the site's samples "
            f"{','.join(site.class_names)}: leave out --classes, so that the certificate pays for the choice."
        )
    samples = site.samples
    certificate = certify_classifier(
        site.classifier,
        samples.labels,
        len(names),
        args.delta,
        fixed,
        groups=samples.groups,
        features=samples.features,
    )
    return {**certificate.to_dict(), "unseen": ASSERTED, "repeated_samples": repeated}


def _data_prior(site: "SavedSite", args: argparse.Namespace) -> dict[str, Any]:
    from pfedgp_core.certificate.classifier import MIN_SAMPLES, refuse_uncertifiable
    from pfedgp_core.certificate.data_prior import (
        PRIOR_SHARE,
        bound_data_prior,
        compare_with_data_prior,
        conditions,
        disagreement,
    )
    from pfedgp_core.certificate.groups import counted_groups
    from pfedgp_core.numerics.streams import Stream

    repeated = require_unseen(site, args)
    samples, classifier = site.samples, site.classifier
    groups = np.arange(len(samples)) if samples.groups is None else samples.groups
    count = int(groups.max()) + 1
    refuse_uncertifiable(classifier, count, MIN_SAMPLES, samples.groups is not None)
    # By seed and model, which were there before the samples: nobody chooses a part by its result.
    stream = Stream(site.model.settings.seed, "certificate", "prior", site.model.sha256)
    part = np.isin(groups, stream.numpy.permutation(count)[: round(PRIOR_SHARE * count)])
    apart = None
    if args.unlabelled is not None:
        inputs, new_groups = unlabelled_inputs(site, args)
        apart = disagreement(classifier, site.model.features(inputs), new_groups)
    federation = len(site.model.class_names)
    made = compare_with_data_prior(
        classifier, samples.features, samples.labels, part, federation, groups=samples.groups
    )
    bound = bound_data_prior(made, args.delta, apart)
    wrong = float((classifier.predict(samples.features) != samples.labels).mean())
    return {
        "method": "data-prior",
        **counted_groups(count, None if samples.groups is None else len(samples)),
        "deployed": {"empirical": wrong, "bound": bound.deployed},
        **bound.to_dict(),
        "conditions": conditions(samples.groups is not None, apart is not None),
        "unseen": ASSERTED,
        "repeated_samples": repeated,
    }


def _progressive(site: "SavedSite", args: argparse.Namespace) -> dict[str, Any]:
    import torch

    from pfedgp_core.certificate.progressive import ABOUT_A_HEAD, Plan, bound_progress, progress
    from pfedgp_core.numerics.streams import Stream
    from pfedgp_core.site.saved import SavedSite

    repeated = require_unseen(site, args)
    samples = site.samples
    groups = site.samples.groups
    inputs, new_groups = (None, None) if args.unlabelled is None else unlabelled_inputs(site, args)
    new = None if inputs is None else site.model.features(inputs).numpy()
    # Groups are numbered in the order of the samples, which is that of their hashes.
    count = len(samples) if groups is None else int(groups.max()) + 1

    def answers(fitted: "SavedSite") -> "Answers":
        return lambda rows: fitted.classifier.predict(torch.from_numpy(rows))

    def fit(rows: np.ndarray) -> "Answers":
        part = samples.take(rows)
        return answers(SavedSite.fit(site.name, site.model, part, site.columns))

    # By seed and model, which were there before the samples: nobody chooses an order by its result.
    stream = Stream(site.model.settings.seed, "certificate", "order", site.model.sha256)
    order = stream.numpy.permutation(count)
    found = progress(
        fit,
        samples.features,
        samples.labels,
        order,
        answers(site),
        new,
        Plan() if site.classifier.logits_of is None else ABOUT_A_HEAD,
        groups,
        new_groups,
    )
    result = bound_progress(found, count, args.delta, None if groups is None else len(samples)).to_dict()
    return {**result, "unseen": ASSERTED, "repeated_samples": repeated}


def _held_out(site: "SavedSite", args: argparse.Namespace) -> dict[str, Any]:
    from pfedgp_core.certificate.held_out import certify_held_out

    data = held_out_samples(site, args.data, args)
    predicted = site.classifier.classes_[site.predict(data.inputs).predicted]
    result = certify_held_out(predicted, data.labels, args.delta, data.samples).to_dict()
    return {**result, "repeated_samples": data.repeated}


PROOFS = {"progressive": _progressive, "pac-bayes": _pac_bayes, "data-prior": _data_prior, "held-out": _held_out}
