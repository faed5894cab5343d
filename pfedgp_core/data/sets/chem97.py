"""A levels 1997: 31,022 pupils of 2,410 schools; has a pupil grade A or B in chemistry (``Chem97`` of R's mlmRev)."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.files.r_table import read_r_table

__all__ = ["chem97"]

_INPUTS = (Column("gender", ("F", "M")), Column("age"), Column("gcsescore"))
_GRADE_B = 8  # points; an A has 10, each grade below B two less


def chem97(root: str = "", seed: int = 0) -> Dataset:
    """Load the pupils, whose sites are their schools; `root` and `seed` are unused.

    Inputs: sex, age in months (centred), mean score of the earlier exams (GCSE). Nothing is missing.
    """
    table = read_r_table("mlmRev", "Chem97", ("school", "score", *(column.name for column in _INPUTS)))
    target = [None if points is None else int(points >= _GRADE_B) for points in table["score"]]
    return site_table("chem97", table, ("school", "school"), _INPUTS, target, ("C or below", "A or B"))
