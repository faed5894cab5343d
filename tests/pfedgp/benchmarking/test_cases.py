"""The cases of the benchmark."""

from pfedgp.benchmarking.cases import Case, select


def test_the_grid() -> None:
    cases = select()
    assert len(cases) == len(set(cases)) == 3 * 3 * 4 + 2
    assert [c for c in cases if c.large] == [Case("ip-compute", 2, 10_000), Case("ip-compute", 2, 100_000)]
    assert [c.n for c in cases] == sorted(c.n for c in cases)
    assert select(["full"], [2], [400]) == [Case("full", 2, 400)]
    assert {(c.classes, c.n) for c in select(quick=True)} == {(2, 80), (2, 400)}
    assert Case("ip-compute", 2, 800).inducing_per_class == 100
    assert Case("ip-compute", 2, 100_000).inducing_per_class == 50
    assert Case("full", 2, 1800).test_points == 1800
    assert Case("full", 2, 10_000).test_points == 2000
