"""What the log says of a federation's data once they are fixed: its classes and columns, and what may be a mistake."""

import logging
from collections.abc import Sequence

from pfedgp_core.data.spec import DataSpec, normal_class
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import few
from server.clients.columns import columns_text, unnamed
from server.clients.similar_classes import similar_classes

__all__ = ["log_federation"]

logger = logging.getLogger("pfedgp.server")

SHOWN = 20  # classes in a log line


def log_federation(spec: DataSpec, hellos: Sequence[Hello], listed: bool) -> None:
    """Log it.

    Parameters
    ----------
    spec : DataSpec
    hellos : sequence of Hello
        Of sites with data of their own, as they came.
    listed : bool
        Whether the operator has listed the classes.
    """
    if not listed and (alike := similar_classes(hellos)):
        logger.warning("%s", alike)
    names = spec.class_names
    found = {normal_class(name) for hello in hellos for name in hello.class_names}
    if names and not listed and (others := sorted(found - set(names))):
        logger.warning(
            "spellings that are counted as a class of another case: %s; most sites decide which one is used, and other "
            "sites may decide otherwise: set class-names to fix it",
            few(others),
        )
    said = f"{few(names, SHOWN)} ({len(names)} in all)" if names else "none, a regression"
    logger.info("the federation's classes: %s", said)
    if spec.columns:
        logger.info("the federation's columns: %s", columns_text(spec.columns))
    others = [hello.name for hello in hellos if hello.columns and hello.columns != spec.columns]
    if others:
        logger.info("columns in another order, taken by name: %s", few(others))
    if without := unnamed(hellos, spec.columns):
        logger.warning("%s", without)
