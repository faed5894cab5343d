"""The benchmark of simulations: mistakes, the table, and one small run of the pool."""

from pathlib import Path

import pytest

from pfedgp.benchmarking import simulation, simulation_report
from pfedgp.benchmarking.simulated_images import write_images
from pfedgp.benchmarking.simulation import SimulatedCase, measure
from pfedgp.cli import main


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv",
    [
        ["--simulate", "--deploy"],
        ["--simulate", "--rounds", "2"],
        ["--simulate", "--workers", "0"],
        ["--simulate", "--repeats", "0"],
        ["--simulate", "--engines", "dask"],
        ["--simulate", "--clients", "7"],
        ["--clients", "20"],
        ["--engines", "pool"],
    ],
)
def test_mistakes_are_one_sentence(
    argv: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # the command sets it
    assert main(["bench", *argv]) == 2
    err = capsys.readouterr().err
    assert err.startswith("pfedgp: ")
    assert err.count("\n") == 1


def result(kind: str, clients: int, driver: float) -> dict[str, object]:
    return {"kind": kind, "clients": clients, "driver_cpu_s": driver}


def test_growth_is_a_ratio_of_medians() -> None:
    found = [result("pool", 500, x) for x in (1.0, 2.0, 9.0)] + [result("pool", 5000, 3.0), result("ray", 500, 1.0)]
    assert simulation_report.growth(found) == {"pool": 1.5}


def test_the_order_is_mixed_and_the_same_for_a_seed() -> None:
    cases = [SimulatedCase("pool", n, 3, 1) for n in range(30)]
    assert simulation.shuffled(cases, 1) == simulation.shuffled(cases, 1) != cases
    assert set(simulation.shuffled(cases, 1)) == set(cases)


@pytest.mark.slow
def test_a_small_run_of_the_pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    write_images(tmp_path / "images.npz")
    measured = measure(SimulatedCase("pool", 20, 4, 1), tmp_path / "images.npz")
    assert measured["rounds"] == 3
    assert 0 < measured["client_cpu_s"] < measured["cpu_s"]
    assert measured["overhead"] == pytest.approx(measured["cpu_s"] / measured["client_cpu_s"] - 1)
    assert "pool" in simulation_report.line(measured)
