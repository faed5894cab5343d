"""The ratios that the authors published."""

from pfedgp.benchmarking.authors import authors_ratio
from pfedgp.benchmarking.cases import Case


def test_the_authors_ratios_stand_beside_ours_where_known() -> None:
    assert authors_ratio(Case("full", 2, 400)) == 4.2
    assert authors_ratio(Case("ip-compute", 10, 80)) == 634.8
    assert authors_ratio(Case("ip-data", 2, 1800)) is None
    assert authors_ratio(Case("full", 2, 401)) is None
