"""The examples of CONTRIBUTING.md, dropped in as it says: a kernel, a variant, a data set, ... runs in a federation."""

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pfedgp_core import registry
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.simulated import simulated_partition
from tests.federation_run import QUICK, SMALL, federate

pytestmark = pytest.mark.slow

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
ONE = SMALL.replace(rounds=1, evaluate_every=1)
MOST_LINES = 20


class Example(NamedTuple):
    """What a section shows: a file, its place, and the line of a registry."""

    module: str
    code: str
    entries: dict[str, Any]


def example(kind: str) -> Example:
    section = TEXT.partition(f"## Add a {kind}\n")[2].partition("\n## ")[0]
    file, line = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    place = file.partition("\n")[0].removeprefix("# ")
    return Example(place.removesuffix(".py").replace("/", "."), file, eval(f"{{{line}}}", vars(registry)))


KINDS = {
    "kernel": registry.KERNELS,
    "variant": registry.VARIANTS,
    "data set": registry.DATASETS,
    "partition": registry.PARTITIONS,
    "metric": registry.METRICS,
}


def dropped_in(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put the file where its room is found and the line into the registry; returns the new name."""
    shown = example(kind)
    room, _, name = shown.module.rpartition(".")
    (tmp_path / f"{name}.py").write_text(shown.code, encoding="utf-8")
    package = importlib.import_module(room)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, shown.module, raising=False)
    for key, entry in shown.entries.items():
        monkeypatch.setitem(KINDS[kind], key, entry)  # type: ignore[arg-type]
    (key,) = shown.entries
    return key


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_is_short(kind: str) -> None:
    assert len(example(kind).code.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_names_the_file(kind: str) -> None:
    shown = example(kind)
    assert [entry.target.partition(":")[0] for entry in shown.entries.values()] == [shown.module]


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_is_new(kind: str) -> None:
    assert not example(kind).entries.keys() & KINDS[kind].keys()


def test_a_kernel_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = dropped_in("kernel", tmp_path, monkeypatch)
    gp = GPSettings(**{**vars(QUICK), "kernel": name})
    assert federate(ONE.replace(gp=gp), tmp_path / "run").summary["status"] == "completed"


def test_a_variant_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = dropped_in("variant", tmp_path, monkeypatch)
    assert federate(ONE.replace(variant=name), tmp_path / "run").summary["status"] == "completed"


def test_a_variant_is_not_the_one_that_it_extends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = dropped_in("variant", tmp_path, monkeypatch)
    ours, full = (
        federate(ONE.replace(variant=v, train_samples=0), tmp_path / v).model("final") for v in (name, "full")
    )
    assert ours.tobytes() != full.tobytes()


def test_a_data_set_is_tested_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = dropped_in("data set", tmp_path, monkeypatch)
    summary = federate(ONE.replace(dataset=name, clients=6, train_samples=0), tmp_path / "run").summary
    assert summary["test_samples"] == 35


def test_a_partition_is_that_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ONE.replace(partition=dropped_in("partition", tmp_path, monkeypatch))
    written = json.loads((federate(settings, tmp_path / "run").path / "partition.json").read_text())
    assert written["hash"] == simulated_partition(settings).hash


def test_a_name_that_is_nearly_right_is_hinted_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped_in("data set", tmp_path, monkeypatch)
    with pytest.raises(registry.ConfigError, match="did you mean 'wine'"):
        Settings(dataset="whine")


def test_a_metric_is_in_the_summary_and_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = dropped_in("metric", tmp_path, monkeypatch)
    run = federate(ONE, tmp_path / "run")
    assert -1 < run.summary[name] < 1
    assert name in (tmp_path / "run" / "clients.csv").read_text(encoding="utf-8").partition("\n")[0].split(",")
