"""``pfedgp bench``: mistakes are one sentence, and a quick case runs through."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pfedgp.benchmarking import measure
from pfedgp.cli import main

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
    assert out == ""
    assert err.startswith("pfedgp: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
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


@pytest.mark.slow
def test_a_quick_case_yields_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bench.json"
    argv = ["--quick", "--classes", "2", "--n", "80", "--repeats", "2", "--seed", "0", "--json", str(file)]
    assert main(["bench", *argv]) == 0
    written = json.loads(file.read_text())
    assert written["machine"]["threads"] == 1
    assert written["seed"] == 0
    assert written["repeats"] == 2
    assert [c["variant"] for c in written["cases"]] == ["full", "ip-data", "ip-compute"]
    for case in written["cases"]:
        assert set(case) == set(SCHEMA)
        assert all(isinstance(case[key], kind) for key, kind in SCHEMA.items())
        assert min(case[key] for key in SCHEMA if key.endswith(("_s", "_mb"))) > 0
        assert case["epoch_batch"] in measure.BATCHES
        assert case["pairs"] == 2
        assert case["ratio_quartiles"][0] <= case["ratio"] <= case["ratio_quartiles"][1]
        assert {"network", "gp", "other"} <= set(case["phases"])
        assert case["update_cpu_s"] == pytest.approx(sum(case["phases"].values()), rel=0.2)
        assert case["update_peak_mb"] <= case["peak_mb"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["variant", "classes", "n"]
    assert [line.split()[0] for line in lines[1:4]] == ["full", "ip-data", "ip-compute"]
    assert "the authors' published code over its own epoch" in "\n".join(lines)
    assert list(tmp_path.iterdir()) == [file]


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
