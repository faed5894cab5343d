"""What a data set from natural sites means for a simulation where nothing else is said: its sites are the clients.

These settings depend on the data set, so that they are no defaults of `pfedgp_core.config.Settings`.
"""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import DATASETS

__all__ = ["natural_settings"]

_NATURAL = "natural"
_MOST = 1_000_000  # clients that any setting allows


def natural_settings(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Task, partition and number of clients of a data set that has sites, by flat key; of another, nothing.

    Parameters
    ----------
    chosen : mapping
        Flat keys that the user gives, which come before these.

    Raises
    ------
    ConfigError
        A value that is not allowed, or no site with enough samples.
    DataError
        The data set cannot be loaded.
    """
    known = DATASETS.get(str(chosen.get("dataset", Settings.dataset)))
    if known is None or chosen.get("partition", _NATURAL) != _NATURAL:
        return {}
    if not known.sites and not (known.own and _has_sites(_most(chosen))):
        return {}
    found: dict[str, Any] = {"partition": _NATURAL} | ({"task": known.task} if known.task else {})
    if "clients" not in chosen:
        found["clients"] = _sites(_most({**found, **chosen}))
    return found


def _most(chosen: Mapping[str, Any]) -> Settings:
    """The settings with as many clients as there can be."""
    return Settings.from_run_config({**chosen, "clients": _MOST})


def _has_sites(settings: Settings) -> bool:
    """Whether a user's own data say where each sample comes from."""
    from pfedgp_core.data.datasets import dataset_of

    return dataset_of(settings).sites is not None


def _sites(settings: Settings) -> int:
    """How many sites of the data set have enough samples."""
    from pfedgp_core.data.datasets import dataset_of

    sites = dataset_of(settings).sites
    kept = 0 if sites is None else len(sites.kept(settings.natural_floor))
    if not kept:
        raise ConfigError(
            f"natural-floor = {settings.natural_floor} leaves no site of dataset = {settings.dataset!r}: lower it."
        )
    return kept
