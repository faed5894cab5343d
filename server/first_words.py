"""What is said before round 1: who takes part in what, and which data and settings are to be looked at."""

import logging

from pfedgp_core.config import Settings
from pfedgp_core.learning.robust import trim_count
from pfedgp_core.methods.base import Method
from server.clients.roster import Roster
from server.unused_settings import unused_settings
from server.weights import doubtful_claims

__all__ = ["say_first"]

logger = logging.getLogger("pfedgp.server")


def say_first(settings: Settings, roster: Roster, method: Method) -> None:
    """Log the clients' samples and what is doubtful of them, and settings that change nothing or are dangerous."""
    clients = roster.all
    samples = [sum(getattr(c.hello, f"n_{split}") for c in clients) for split in ("train", "validation", "test")]
    logger.info(
        "%d clients with %d training, %d validation and %d test samples; %d shared values (%.1f MB a message)",
        *(len(clients), *samples, method.upload_size, 4e-6 * method.upload_size),
    )
    for split, words in (("train", "training"), ("validation", "validation"), ("test", "test")):
        for doubt in doubtful_claims(words, {c.name: getattr(c.hello, f"n_{split}") for c in clients}):
            logger.warning("%s", doubt)
    for sentence in unused_settings(settings, method):
        logger.warning("%s", sentence)
    head = not method.exposed and settings.gp.prior_mean == "head"
    # With fewer in a round than one that `nearest` leaves out, it is the mean of all.
    left_out = trim_count(settings.trim_share, min(settings.clients_per_round, len(clients)))
    held = settings.aggregation == "nearest" and left_out > 0
    if roster.own_data and (method.exposed or head) and not held:
        logger.warning(
            "%s: one of five sites that attacks in every round can cost much accuracy under aggregation = "
            "%s%s; 'nearest' with trim-share = 0.2 keeps more, at a price where nobody attacks%s: see docs/attacks.md",
            "a shared head (gp.prior-mean)" if head else f"method = {settings.method}",
            settings.aggregation,
            f" with trim-share = {settings.trim_share:g}" if settings.aggregation == "nearest" else "",
            ", and so does --preset zero-mean" if head else "",
        )
