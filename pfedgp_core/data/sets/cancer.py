"""Advanced lung cancer: 228 patients of 18 institutions; death within 180 days (``cancer`` of R's survival)."""

from typing import Any

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.files.r_table import read_r_table

__all__ = ["cancer"]

_INPUTS = tuple(map(Column, ("age", "sex", "ph.ecog", "ph.karno", "pat.karno", "meal.cal", "wt.loss")))
_DAYS = 180
_DEAD = 2  # of the column status; 1 is a patient who was alive when last seen


def cancer(root: str = "", seed: int = 0) -> Dataset:
    """Load the patients, whose sites are their institutions; `root` and `seed` are unused.

    Inputs: age, sex, three ratings of how the patient does, calories at meals, weight loss; where one is missing, see
    `pfedgp_core.data.site_table`. A patient last seen alive before day 180 has no target and is dropped, as is one
    without an institution.
    """
    table = read_r_table("survival", "cancer", ("inst", "time", "status", *(column.name for column in _INPUTS)))
    target = [_died(days, status) for days, status in zip(table["time"], table["status"], strict=True)]
    return site_table("cancer", table, ("inst", "institution"), _INPUTS, target, ("alive", "dead"))


def _died(days: Any, status: Any) -> int | None:
    if days is None or status is None:
        return None
    if days > _DAYS:
        return 0
    return 1 if status == _DEAD else None
