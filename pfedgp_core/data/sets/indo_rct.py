"""Indomethacin trial: 602 patients of 4 hospitals; pancreatitis after endoscopy (``indo_rct`` of R's medicaldata)."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.files.r_table import read_r_table

__all__ = ["indo_rct"]

_YES = ("0_no", "1_yes")
# What is known before the outcome; bleeding is an outcome itself.
_YES_NO = (
    "sod", "pep", "recpanc", "psphinc", "precut", "difcan", "pneudil", "amp", "paninj", "acinar", "brush", "asa81",
    "asa325", "asa", "prophystent", "therastent", "pdstent", "sodsom", "bsphinc", "bstent", "chole", "pbmal", "train",
)  # fmt: skip
_INPUTS = (
    Column("age"),
    Column("risk"),
    Column("gender", ("1_female", "2_male")),
    Column("status", ("0_inpatient", "1_outpatient")),
    Column("type", ("0_no SOD", "1_type 1", "2_type 2", "3_type 3")),
    Column("rx", ("0_placebo", "1_indomethacin")),
    *(Column(name, _YES) for name in _YES_NO),
)
_OUTCOME = {"0_no": 0, "1_yes": 1}


def indo_rct(root: str = "", seed: int = 0) -> Dataset:
    """Load the patients, whose sites are their hospitals; `root` and `seed` are unused.

    Inputs: age, risk score, sex, in- or outpatient, kind of dysfunction, treatment, and 23 facts of history and
    procedure.
    """
    table = read_r_table("medicaldata", "indo_rct", ("site", "outcome", *(column.name for column in _INPUTS)))
    table["site"] = [None if site is None else str(site).partition("_")[2] for site in table["site"]]
    target = [_OUTCOME.get(outcome) for outcome in table["outcome"]]
    return site_table("indo-rct", table, ("site", "hospital"), _INPUTS, target, ("no", "pancreatitis"))
