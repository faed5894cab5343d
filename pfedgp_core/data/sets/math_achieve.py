"""High School and Beyond 1982: 7,185 pupils of 160 schools; over 13 points (``MathAchieve`` of R's nlme).

The score in mathematics runs from -3 to 25, and half of all pupils have 13.1 or more.
"""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.files.r_table import read_r_table

__all__ = ["math_achieve"]

_INPUTS = (Column("Minority", ("No", "Yes")), Column("Sex", ("Female", "Male")), Column("SES"), Column("MEANSES"))
_POINTS = 13.0


def math_achieve(root: str = "", seed: int = 0) -> Dataset:
    """Load the pupils, whose sites are their schools; `root` and `seed` are unused.

    Inputs: minority, sex, socio-economic status of the pupil, and its mean in the school. Nothing is missing.
    """
    table = read_r_table("nlme", "MathAchieve", ("School", "MathAch", *(column.name for column in _INPUTS)))
    target = [None if points is None else int(points > _POINTS) for points in table["MathAch"]]
    return site_table("math-achieve", table, ("School", "school"), _INPUTS, target, ("up to 13", "over 13"))
