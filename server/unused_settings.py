"""Settings that were given and change nothing in a run, said before round 1 rather than ignored in silence."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.methods.base import Method
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.registry import METHODS, is_gaussian
from pfedgp_core.wire.encodings import FLOAT32
from pfedgp_core.words import few

__all__ = ["unused_settings"]

_GAUSSIAN = ("variant", "objective", "class-weights")  # beside the group gp.*
# Settings that some partitions alone read.
_OF_PARTITIONS = {
    "dirichlet-alpha": ("dirichlet", "extended-dirichlet", "quantity"),
    "dirichlet-floor": ("dirichlet", "extended-dirichlet", "quantity"),
    "dirichlet-balanced": ("dirichlet",),
    "novel-alpha": ("dirichlet",),
    "flwr-partitioner": ("flwr-datasets",),
    "natural-floor": ("natural",),
}


def unused_settings(settings: Settings, method: Method) -> list[str]:
    """A sentence for each group of settings that differ from their defaults and say nothing to this method.

    Parameters
    ----------
    settings : Settings
    method : Method
        Of the run.
    """
    sentences, changed = [], _changed(settings)
    others = [f"{key} = {value}" for key, value in settings.own.given if key.partition(".")[0] != method.name]
    if others:
        sentences.append(f"settings of other methods change nothing under method = {settings.method}: {few(others)}")
    if settings.method in METHODS and not is_gaussian(settings.method):
        given = [f"{key} = {value}" for key, value in changed.items() if key.startswith("gp.") or key in _GAUSSIAN]
        if given:
            sentences.append(
                f"settings of Gaussian processes change nothing under method = {settings.method}: {few(given)}"
            )
    if settings.update_encoding != FLOAT32 and not method.private:
        sentences.append(
            f"method = {settings.method} sends all bits, as its uploads are no updates: update-encoding = "
            f"{settings.update_encoding} changes nothing"
        )
    if "best-classes" in changed and not task_report(settings.task).by_own(settings.best_classes):
        sentences.append(f"best-classes = {settings.best_classes} changes nothing in a {settings.task}, which has none")
    return sentences + _unread_by_the_partition(settings, changed)


def _changed(settings: Settings) -> dict[str, Any]:
    """Those that differ from their defaults, and all that methods outside the registry have."""
    usual = Settings().to_run_config()
    return {key: value for key, value in settings.to_run_config().items() if value != usual.get(key)}


def _unread_by_the_partition(settings: Settings, changed: Mapping[str, Any]) -> list[str]:
    unread = [
        f"{key} = {changed[key]}"
        for key, partitions in _OF_PARTITIONS.items()
        if key in changed and settings.partition not in partitions
    ]
    if unread:
        return [f"settings of other partitions change nothing under partition = {settings.partition}: {few(unread)}"]
    if settings.novel_alpha and not settings.novel_clients:
        return [f"novel-alpha = {settings.novel_alpha:g} changes nothing without novel-clients"]
    return []
