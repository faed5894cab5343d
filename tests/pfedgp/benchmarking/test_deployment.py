"""A measured deployment, and its comparison with Flower's stock path."""

from typing import Any

import pytest

from pfedgp.benchmarking import deployment, deployment_report


@pytest.mark.slow
def test_a_deployment_is_measured() -> None:
    result = deployment.measure(deployment.DeployedCase(sites=1, stock=False, database=True), 4, idle_seconds=2.0)
    assert result["rounds"] >= 4
    low, high = result["round_quartiles_s"]
    assert 0.0 < low <= result["round_s"] <= high
    for key in ("site_cpu_s_per_message", "server_cpu_s_per_message", "site_mb", "server_mb"):
        assert result[key] > 0.0, key
    assert result["idle_site_core"] >= 0.0
    assert len(deployment_report.line(result)) == len(deployment_report.header())


def test_ratios_compare_with_the_stock_path_of_as_many_sites() -> None:
    results: list[dict[str, Any]] = [
        {"sites": 2, "path": "stock", "round_s": 6.0},
        {"sites": 2, "path": "fast", "round_s": 0.5},
        {"sites": 5, "path": "fast", "round_s": 1.0},
    ]
    compared = deployment_report.with_ratios(results)
    assert [result.get("stock_ratio") for result in compared] == [None, 12.0, None]
