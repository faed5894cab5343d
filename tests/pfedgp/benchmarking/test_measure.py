"""What a case reports of its measurements."""

import pytest

from pfedgp.benchmarking import measure, report
from pfedgp.benchmarking.cases import Case

pytestmark = pytest.mark.slow


def test_ratio_and_scaling_come_from_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    updates, epochs = iter([9.0, 3.0, 4.0, 10.0]), iter([2.0, 2.0, 2.5])
    bench = measure.CaseBenchmark(Case("full", 2, 80), repeats=3, seed=0, worth=0.0)
    monkeypatch.setattr(bench, "update_seconds", lambda: next(updates))
    monkeypatch.setattr(bench, "_epoch_seconds", lambda epoch: next(epochs))
    monkeypatch.setattr(bench, "_fastest_batch", lambda: 64)
    result = bench.run()
    assert result["update_cpu_s"] == 4.0
    assert result["epoch_cpu_s"] == 2.0
    assert result["ratio"] == 2.0
    assert result["ratio_quartiles"] == [1.5, 4.0]

    small, large = (result | {"variant": "ip-compute", "n": n} for n in (10_000, 100_000))
    large |= {"update_cpu_s": 42.0}
    (growth,) = report.scaling([result, small, large])
    assert growth["from"] == 10_000
    assert growth["to"] == 100_000
    assert growth["update_ratio"] == 10.5
    assert "update time x 10.5" in report.footer({"cases": [small, large], "scaling": [growth]})
