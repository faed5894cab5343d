"""The ratios that the authors published."""

from pfedgp.benchmarking.authors import authors_ratio
from pfedgp.benchmarking.cases import Case


def test_the_authors_ratios_stand_beside_ours_where_known() -> None:
    assert authors_ratio(Case("full", 2, 400)) == 2.8
    assert authors_ratio(Case("ip-data", 2, 1800)) is None
    assert authors_ratio(Case("full", 2, 401)) is None
