"""Bangladesh 1988: 1,934 women of 60 districts; does a woman use contraception (``Contraception`` of R's mlmRev)."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.files.r_table import read_r_table

__all__ = ["contraception"]

_INPUTS = (Column("age"), Column("livch", ("0", "1", "2", "3+")), Column("urban", ("N", "Y")))
_USE = {"N": 0, "Y": 1}


def contraception(root: str = "", seed: int = 0) -> Dataset:
    """Load the women, whose sites are their districts; `root` and `seed` are unused.

    Inputs: age in years (centred by the survey), living children, town or country. Nothing is missing.
    """
    table = read_r_table("mlmRev", "Contraception", ("district", "use", *(column.name for column in _INPUTS)))
    target = [_USE.get(use) for use in table["use"]]
    return site_table("contraception", table, ("district", "district"), _INPUTS, target, ("no", "yes"))
