"""The reasons to refuse a certificate that stands on a site's own samples."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pfedgp_core.site.saved import SavedSite

__all__ = ["require_unseen"]


def require_unseen(site: "SavedSite", args: argparse.Namespace) -> int:
    """Refuse a site whose own samples prove nothing; return how many of them equal one of another group.

    Raises
    ------
    NoCertificateError
        The site took part in the training, nobody asserts that it did not, or samples are copies.
    """
    from pfedgp_core.certificate.classifier import NoCertificateError

    if site.took_part:
        raise NoCertificateError(
            f"A client named {site.name!r} took part in training this model, so the site's own samples prove nothing "
            "about its error: certify on held-out data (--method held-out --data PATH)."
        )
    if not args.unseen:
        raise NoCertificateError(
            f"It is not known whether data of the site {site.name!r} helped to train or select its model: give "
            "--unseen if they never did, or certify on held-out data (--method held-out --data PATH)."
        )
    repeated = site.samples.repeated_elsewhere()
    if repeated and not args.repeats_are_genuine:
        raise NoCertificateError(
            f"{repeated} of the {len(site.samples)} samples equal another one, and copies are not independent: make "
            "the site again without them, or give --repeats-are-genuine if each is a sample of its own."
        )
    return repeated
