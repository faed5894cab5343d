"""The certificate of a client's classifier: the theorem of `theorem`, its conditions, and the reasons to refuse.

What is deployed is the arg max of the probabilities mean_c E sigma(f), multiplied along the path. It is the vote of the
soft classifier, so twice the bound on the probability given to wrong classes covers its error. The vote of the paper's
Gibbs classifier, arg max of mean_c P(f > 0), is covered by twice the Gibbs bound, which is smaller. The two nearly
always agree; `risk.class_probabilities` computes both. When to refuse: docs/certificate.md.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.certificate.groups import counted_groups, independence
from pfedgp_core.certificate.risk import class_probabilities, node_rows
from pfedgp_core.certificate.theorem import Risk, TreeCertificate, certify_tree
from pfedgp_core.errors import DataError
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.tree.classifier import PersonalClassifier

__all__ = [
    "MIN_SAMPLES",
    "Certificate",
    "NoCertificateError",
    "Risk",
    "TreeCertificate",
    "certify_classifier",
    "certify_tree",
    "refuse_uncertifiable",
]

MIN_SAMPLES = 30  # for n <= 26 and delta = 0.01 even KL = 0 and no error leave a vote's bound above 1/2

FITTED = "The samples that the classifier was fitted on, all of which count here,"
CONDITIONS = (
    (
        "Network, shared head, kernel, inducing inputs, normalisation constants and settings were fixed without these "
        "samples: no training, no model selection and no choice between certificates on them."
    ),
    "Future samples come from the same population; a sample of a class outside the tree counts as an error.",
    (
        "delta covers all bounds of this certificate together, but not those of other certificates, such as an earlier "
        "one on fewer samples."
    ),
)


class NoCertificateError(DataError):
    """No valid or meaningful certificate exists for this client; the text says why."""


@dataclass(frozen=True)
class Certificate:
    """The certificate of a personal classifier.

    Attributes
    ----------
    tree : TreeCertificate
    classes : list
        Class labels of the tree, ascending.
    sign_vote_error, soft_vote_error : float
        Share of errors of the two covered arg max classifiers on the fitted samples, predicted as if new.
    sign_vote_differs, soft_vote_differs : float
        Share of the fitted samples on which they answer otherwise than ``classifier.predict``.
    samples : int or None
        Fitted samples of the groups that count; None where samples count.
    """

    tree: TreeCertificate
    classes: list[Any]
    sign_vote_error: float
    soft_vote_error: float
    sign_vote_differs: float
    soft_vote_differs: float
    samples: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, fit for JSON."""
        tree = self.tree
        return {
            "method": "pac-bayes",
            **counted_groups(tree.n, self.samples),
            "delta": tree.delta,
            "classes": self.classes,
            "deployed": {
                "empirical": self.soft_vote_error,
                "bound": tree.soft_vote,
                "differs_from_predict": self.soft_vote_differs,
            },
            "wrong_probability": tree.soft._asdict(),
            "gibbs": tree.sign._asdict(),
            "gibbs_vote": {
                "empirical": self.sign_vote_error,
                "bound": tree.sign_vote,
                "differs_from_predict": self.sign_vote_differs,
            },
            "kl": tree.kl,
            "kl_convex": tree.kl_convex,
            "information": tree.information,
            "price_tree": tree.price_tree,
            "price_classes": tree.price_classes,
            "conditions": [independence(FITTED, self.samples is not None), *CONDITIONS],
            "not_a_bound": asdict(tree.paper),
        }


def certify_classifier(
    classifier: PersonalClassifier,
    labels: ArrayLike | Tensor,
    federation_classes: int,
    delta: float = 0.01,
    fixed_classes: Sequence[Any] | None = None,
    stream: Stream | None = None,
    *,
    min_samples: int = MIN_SAMPLES,
    groups: np.ndarray | None = None,
    features: ArrayLike | Tensor | None = None,
) -> Certificate:
    """Certify a fitted classifier on the samples it was fitted on.

    Parameters
    ----------
    classifier : PersonalClassifier
    labels : array [n]
        As given to ``fit``, in the same order.
    federation_classes : int
        Number of classes the client could have had.
    delta : float
    fixed_classes : sequence, optional
        Class labels that were fixed before the samples were seen; must be those of the tree. Then the class set costs
        nothing.
    stream : Stream, optional
        For the information draws; from the classifier's stream if left out.
    min_samples : int
    groups : array [n], optional
        The number of each sample's group, where groups and not samples are independent.
    features : array or Tensor [n, d], optional
        As given to ``fit``, in the same order: a classifier about a shared head needs them, as the head reads features
        that are not on the unit sphere.

    Raises
    ------
    NoCertificateError
        There is no rigorous or meaningful certificate: the text says why.
    DataError
        Labels or features that are not those of the fitted samples.
    """
    if not hasattr(classifier, "tree_"):
        raise DataError("The classifier has no training data yet: call fit first.")
    names = classifier.classes_
    given = labels.cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    units = given if groups is None else np.unique(groups)
    refuse_uncertifiable(classifier, len(units), min_samples, groups is not None)
    positions = np.searchsorted(names, given).clip(max=len(names) - 1)
    if not np.array_equal(names[positions], given):
        raise DataError("The labels hold a class that the classifier does not have: give those it was fitted on.")
    if fixed_classes is not None and sorted(fixed_classes) != sorted(names.tolist()):
        raise NoCertificateError(
            f"The classes fixed in advance are {sorted(fixed_classes)}, those of the fitted samples "
            f"{sorted(names.tolist())}: leave out the fixed list, so that the certificate pays for the choice."
        )
    codes = torch.from_numpy(positions.astype(np.int64))
    nodes = [(known.gp, omega) for known, omega in classifier.nodes_]
    # The root holds all samples, those on its left first.
    rows = node_rows(codes, classifier.tree_.nodes[0])
    inputs = _inputs(classifier, features, rows)
    tree = certify_tree(
        classifier.tree_,
        nodes,
        codes,
        federation_classes if fixed_classes is None else None,
        delta,
        stream or Stream(classifier.stream.seed, *classifier.stream.path, "certificate"),
        groups=groups,
    )
    deployed = np.searchsorted(names, classifier.predict(inputs))
    votes = [p.argmax(1) for p in class_probabilities(classifier, inputs)]
    wrong = [float((vote != positions[rows.numpy()]).mean()) for vote in votes]
    differs = [float((vote != deployed).mean()) for vote in votes]
    samples = None if groups is None else len(given)
    return Certificate(tree, names.tolist(), wrong[0], wrong[1], differs[0], differs[1], samples)


def _inputs(classifier: PersonalClassifier, features: ArrayLike | Tensor | None, rows: Tensor) -> Tensor:
    """What the classifier predicts to answer its own samples, in the order of the root's GP, [n, d]."""
    known = classifier.nodes_[0][0].gp.inputs  # on the unit sphere, which a second projection leaves as they are
    if classifier.logits_of is None:
        return known
    if features is None:
        raise DataError("A classifier about a shared head is certified with its samples' features: give them as well.")
    raw = (features if isinstance(features, Tensor) else torch.as_tensor(np.asarray(features)))[rows]
    if raw.shape != known.shape or not torch.allclose(unit_sphere(raw).to(known), known, atol=1e-6):
        raise DataError("The features are not those that the classifier was fitted on: give these, in their order.")
    return raw


def refuse_uncertifiable(classifier: PersonalClassifier, n: int, min_samples: int, grouped: bool = False) -> None:
    """Refuse classifiers that the theorem does not cover, and fewer than `min_samples` samples or groups.

    Raises
    ------
    NoCertificateError
        The text says why.
    """
    settings = classifier.settings
    if len(classifier.classes_) < 2:
        raise NoCertificateError(
            f"All samples are of the one class {classifier.classes_[0]}, so there is no decision to certify: "
            "certify on held-out data (--method held-out)."
        )
    if reason := VARIANTS[settings.variant].no_certificate:
        raise NoCertificateError(
            f"There is no certificate for variant = {settings.variant!r}: {reason}; certify on held-out data "
            "(--method held-out)."
        )
    if settings.classes == "all":
        raise NoCertificateError(
            "There is no certificate for classes = 'all': inducing inputs stand in for samples there; "
            "certify on held-out data (--method held-out)."
        )
    if settings.class_weights != "none":
        raise NoCertificateError(
            f"There is no certificate for class-weights = {settings.class_weights!r}: the theorem is of a classifier "
            "whose nodes are not corrected for classes; certify on held-out data (--method held-out)."
        )
    if n < min_samples:
        of = "groups of " if grouped else ""
        raise NoCertificateError(
            f"{n} {of}samples are too few: below {min_samples} even a faultless classifier gets a bound near chance; "
            "collect more samples, or certify on held-out data (--method held-out)."
        )
