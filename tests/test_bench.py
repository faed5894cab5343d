"""``pfedgp bench``: mistakes are one sentence, cases run through, and every number comes from a measurement."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from pfedgp.benchmarking import clock, deployment, deployment_report, measure, process_costs, report
from pfedgp.benchmarking.authors import authors_ratio
from pfedgp.benchmarking.baseline import PlainEpoch
from pfedgp.benchmarking.cases import Case, select
from pfedgp.benchmarking.images import INPUT_SHAPE, digit_images, easily_confused
from pfedgp.benchmarking.memory import PeakMemory
from pfedgp.benchmarking.warm_start import spectrum, trained_network, trained_state
from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.model.network import build_network
from pfedgp_core.numerics.streams import Stream

SCHEMA: dict[str, type | tuple[type, ...]] = {
    "variant": str,
    "classes": int,
    "n": int,
    "test_points": int,
    "inducing_per_class": int,
    "update_cpu_s": float,
    "epoch_cpu_s": float,
    "epoch_batch": int,
    "ratio": float,
    "ratio_quartiles": list,
    "pairs": int,
    "evaluate_cpu_s": float,
    "predict_cpu_s": float,
    "peak_mb": float,
    "update_peak_mb": float,
    "peak_of": str,
    "phases": dict,
    "evaluate_phases": dict,
    "eigenvalues_above_0.1": int,
}


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo afterwards what the command sets in the environment."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")


@pytest.mark.parametrize(
    "argv",
    [
        ["--variant", "half"],
        ["--classes", "1"],
        ["--classes", "11"],
        ["--classes", "two"],
        ["--n", "7"],
        ["--n", "2000000"],
        ["--classes", "10", "--n", "39"],
        ["--variant", "full", "--n", "10000"],
        ["--repeats", "0"],
        ["--seed", "-1"],
        ["--json", "missing/folder/bench.json"],
        ["--json", "."],
        ["--fast"],
    ],
)
def test_mistakes_are_one_sentence(
    argv: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("pfedgp: ") and err.count("\n") == 1 and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_help_and_mistakes_load_no_torch() -> None:
    code = (
        "import sys; from pfedgp.cli import main\n"
        "try: main(['bench', '--help'])\n"
        "except SystemExit: pass\n"
        "main(['bench', '--classes', '1'])\n"
        "print({'torch', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.endswith("set()\n")


def test_the_grid() -> None:
    cases = select()
    assert len(cases) == len(set(cases)) == 3 * 3 * 4 + 2
    assert [c for c in cases if c.large] == [Case("ip-compute", 2, 10_000), Case("ip-compute", 2, 100_000)]
    assert [c.n for c in cases] == sorted(c.n for c in cases)
    assert select(["full"], [2], [400]) == [Case("full", 2, 400)]
    assert {(c.classes, c.n) for c in select(quick=True)} == {(2, 80), (2, 400)}
    assert Case("ip-compute", 2, 800).inducing_per_class == 100
    assert Case("ip-compute", 2, 100_000).inducing_per_class == 50
    assert Case("full", 2, 1800).test_points == 1800 and Case("full", 2, 10_000).test_points == 2000


def test_images_are_balanced_distinct_and_reproducible() -> None:
    data = digit_images((3, 8), 300, Stream(1, "a"))
    assert data.inputs.shape == (300, *INPUT_SHAPE) and data.inputs.dtype == torch.float32
    assert data.labels.unique(return_counts=True)[1].tolist() == [150, 150]
    assert len(data.inputs.flatten(1).unique(dim=0)) == 300
    assert abs(data.inputs.mean()) < 0.6 and 0.2 < data.inputs.std() < 1.5
    again = digit_images((3, 8), 300, Stream(1, "a"))
    assert torch.equal(again.inputs, data.inputs) and torch.equal(again.labels, data.labels)
    assert not torch.equal(digit_images((3, 8), 300, Stream(1, "b")).inputs, data.inputs)
    assert set(easily_confused(10)) == set(range(10))


def test_trained_weights_give_a_kernel_matrix_of_realistic_rank() -> None:
    rank = spectrum(2, 0)
    untrained = build_network("lenet", INPUT_SHAPE)
    probe = digit_images(easily_confused(2), 400, Stream(0, "probe", 2))
    assert 60 < rank < 250
    with torch.no_grad():
        assert not torch.allclose(untrained(probe.inputs[:2]), trained_network(0)(probe.inputs[:2]))
    inducing = trained_state("ip-compute", 50, 0).inducing
    assert inducing is not None and inducing.shape == (10, 50, 84)


def test_the_plain_epoch_trains_a_copy_and_starts_anew() -> None:
    network = trained_network(0)
    before = [p.clone() for p in network.parameters()]
    data = digit_images((3, 8), 256, Stream(2))
    epoch = PlainEpoch(network, data, Settings(), Stream(3), batch=32)

    def loss() -> float:
        with torch.no_grad():
            return float(torch.nn.functional.cross_entropy(epoch.model(data.inputs), data.labels))

    first = loss()
    epoch.run()
    assert loss() < first
    epoch.reset()
    assert loss() == first
    assert all(torch.equal(p, q) for p, q in zip(network.parameters(), before, strict=True))


def test_pairs_are_taken_in_turn_and_their_ratios_summarised() -> None:
    order, costs = [], iter([3.0, 1.0, 8.0, 2.0, 5.0, 5.0])

    def measured(name: str) -> Any:
        def take() -> float:
            order.append(name)
            return next(costs)

        return take

    pairs = clock.alternate(measured("a"), measured("b"), fewest=3, worth=0.0)
    assert order == ["a", "b"] * 3
    assert pairs.first == (3.0, 8.0, 5.0) and pairs.second == (1.0, 2.0, 5.0)
    assert pairs.ratios == [1.0, 3.0, 4.0] and pairs.ratio == 3.0 and pairs.spread == (1.0, 4.0)


def test_short_measurements_are_repeated_more_often() -> None:
    assert len(clock.repeat(lambda: 1.0, fewest=2, worth=5.0)) == 5
    assert len(clock.repeat(lambda: 100.0, fewest=2, worth=5.0)) == 2
    assert len(clock.repeat(lambda: 0.0, fewest=2, worth=5.0)) == clock.MOST_REPEATS


def test_cpu_seconds_leave_out_waiting() -> None:
    assert clock.cpu_seconds(lambda: time.sleep(0.2)) < 0.1


def test_peak_memory_sees_a_passing_allocation() -> None:
    memory = PeakMemory()
    memory.restart()
    before = memory.megabytes()
    torch.ones(75_000_000)  # 300 MB, freed at once
    peak = memory.megabytes()
    if memory.method == "case":
        assert 250 < peak - before < 350
        memory.restart()
        assert memory.megabytes() < peak - 200
    else:
        assert peak >= before


def test_ratio_and_scaling_come_from_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    updates, epochs = iter([9.0, 3.0, 4.0, 10.0]), iter([2.0, 2.0, 2.5])
    bench = measure.CaseBenchmark(Case("full", 2, 80), repeats=3, seed=0, worth=0.0)
    monkeypatch.setattr(bench, "update_seconds", lambda: next(updates))
    monkeypatch.setattr(measure, "_epoch_seconds", lambda epoch: next(epochs))
    monkeypatch.setattr(bench, "_fastest_batch", lambda: 64)
    result = bench.run()
    assert result["update_cpu_s"] == 4.0 and result["epoch_cpu_s"] == 2.0  # the first update warmed up
    assert result["ratio"] == 2.0 and result["ratio_quartiles"] == [1.5, 4.0]

    small, large = (result | {"variant": "ip-compute", "n": n} for n in (10_000, 100_000))
    large |= {"update_cpu_s": 42.0}
    (growth,) = report.scaling([result, small, large])
    assert growth["from"] == 10_000 and growth["to"] == 100_000 and growth["update_ratio"] == 10.5
    assert "update time x 10.5" in report.footer({"cases": [small, large], "scaling": [growth]})


def test_a_quick_case_yields_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bench.json"
    argv = ["--quick", "--classes", "2", "--n", "80", "--repeats", "2", "--seed", "0", "--json", str(file)]
    assert main(["bench", *argv]) == 0
    written = json.loads(file.read_text())
    assert written["machine"]["threads"] == 1 and written["seed"] == 0 and written["repeats"] == 2
    assert [c["variant"] for c in written["cases"]] == ["full", "ip-data", "ip-compute"]
    for case in written["cases"]:
        assert set(case) == set(SCHEMA)
        assert all(isinstance(case[key], kind) for key, kind in SCHEMA.items())
        assert min(case[key] for key in SCHEMA if key.endswith(("_s", "_mb"))) > 0
        assert case["epoch_batch"] in measure.BATCHES and case["pairs"] == 2
        assert case["ratio_quartiles"][0] <= case["ratio"] <= case["ratio_quartiles"][1]
        assert {"network", "gp", "other"} <= set(case["phases"])
        assert case["update_cpu_s"] == pytest.approx(sum(case["phases"].values()), rel=0.2)
        assert case["update_peak_mb"] <= case["peak_mb"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["variant", "classes", "n"]
    assert [line.split()[0] for line in lines[1:4]] == ["full", "ip-data", "ip-compute"]
    assert "measured elsewhere" in "\n".join(lines)
    assert list(tmp_path.iterdir()) == [file]


def test_the_authors_ratios_stand_beside_ours_where_known() -> None:
    assert authors_ratio(Case("full", 2, 400)) == 4.2
    assert authors_ratio(Case("ip-compute", 10, 80)) == 634.8
    assert authors_ratio(Case("ip-data", 2, 1800)) is None
    assert authors_ratio(Case("full", 2, 401)) is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--sites", "2"], "belong to --deploy"),
        (["--deploy", "--quick"], "--deploy measures none of --quick"),
        (["--deploy", "--sites", "0"], "needs 1 site"),
        (["--deploy", "--rounds", "1"], "2 rounds at least"),
        (["--deploy", "--json", "/nowhere/at/all.json"], "Cannot write"),
    ],
)
def test_mistakes_about_deployments_are_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) in (1, 2)
    assert sentence in capsys.readouterr().err


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


def test_costs_of_a_process_include_its_children(tmp_path: Path) -> None:
    child = "import time\nwhile time.process_time() < 0.3: pass\n"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.run([sys.executable, '-c', {child!r}])\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\ntime.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        while not (tmp_path / "done").exists():
            assert process.poll() is None
            time.sleep(0.05)
        assert process_costs.below(process.pid) == [process.pid]
        assert process_costs.cpu_seconds_of([process.pid]) >= 0.29
        assert process_costs.megabytes_of([process.pid]) > 1.0
    finally:
        process.kill()
        process.wait()
