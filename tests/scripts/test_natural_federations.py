"""experiments/natural_federations.py: intervals, the table, and a file of results that was cut off."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from experiments import natural_federations as experiment
from experiments.natural_federations import METHODS, Results, Site
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, Dataset, TensorSplit
from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.registry import DATASETS, DatasetEntry
from server.run.settings import read_settings_file

KEY = ("wards", "fedavg", 0)
SITES = {"a": Site(10, 7.0, 3.5), "b": Site(2, 1.0, 2.0)}


@pytest.mark.parametrize(("correct", "n"), [(0, 5), (3, 5), (5, 5), (150, 200)])
def test_the_interval_is_wilsons(correct: int, n: int) -> None:
    theirs = binomtest(correct, n).proportion_ci(0.95, method="wilson")
    assert experiment.wilson(correct, n) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_a_run_that_is_done_is_known_again(tmp_path: Path) -> None:
    Results(tmp_path / "r", 10).add(KEY, SITES, 1.0)
    assert Results(tmp_path / "r", 10).known == {KEY: SITES}


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    first = Results(tmp_path / "r", 10)
    first.add(KEY, SITES, 1.0)
    first.add(("wards", "fedavg", 1), SITES, 1.0)
    text = (tmp_path / "r").read_text()
    (tmp_path / "r").write_text(text[:-20])
    again = Results(tmp_path / "r", 10)
    assert again.known == {KEY: SITES}
    again.add(("wards", "fedavg", 1), SITES, 1.0)
    assert (tmp_path / "r").read_text() == text


def test_runs_of_other_lengths_are_not_mixed(tmp_path: Path) -> None:
    Results(tmp_path / "r", 10).add(KEY, SITES, 1.0)
    with pytest.raises(SystemExit, match="holds runs of 10 rounds, not 20: give another --out"):
        Results(tmp_path / "r", 20)


def test_other_numbers_of_sites_are_not_mixed(tmp_path: Path) -> None:
    Results(tmp_path / "r", 10, most=3).add(KEY, SITES, 1.0)
    assert Results(tmp_path / "r", 10, most=3).known == {KEY: SITES}
    with pytest.raises(SystemExit, match="another --most-sites"):
        Results(tmp_path / "r", 10)


def test_a_site_that_one_seed_lacks_has_the_mean_of_the_others() -> None:
    found = {("wards", "fedavg", 0): SITES, ("wards", "fedavg", 1): {"a": Site(10, 9.0, 1.5)}}
    means = experiment.mean_over(found, "wards", "fedavg", (0, 1))
    assert means == {"a": Site(10, 8.0, 2.5), "b": SITES["b"]}


@pytest.mark.parametrize(("most", "clients"), [(0, 4), (2, 2), (9, 4)])
def test_at_most_so_many_sites_are_clients(monkeypatch: pytest.MonkeyPatch, most: int, clients: int) -> None:
    def wards(root: str, seed: int) -> Dataset:
        table = {"where": [i % 4 for i in range(40)], "age": [float(i) for i in range(40)]}
        return site_table("wards", table, ("where", "ward"), [Column("age")], [i % 2 for i in range(40)], ("no", "yes"))

    monkeypatch.setitem(DATASETS, "wards", DatasetEntry("wards", "", sites=True))
    monkeypatch.setattr(DatasetEntry, "load", lambda self: wards)
    settings = experiment.settings_of("wards", "local", 0, 20, most)
    assert (settings.clients, settings.clients_per_round, settings.rounds) == (clients, clients, 1)


def test_a_run_gets_its_number_of_sites_where_that_is_a_default_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Settings] = []

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        file = Path(command[command.index("--config") + 1])
        given.append(Settings.from_run_config(read_settings_file(file)))
        folder = Path(command[command.index("--out") + 1])
        folder.mkdir()
        (folder / "clients.csv").write_text("name,n_test,accuracy,nll\na,4,0.75,0.5\nb,0,,\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(experiment.subprocess, "run", run)
    settings = Settings(clients=Settings().clients, partition="natural")
    assert experiment.measured(settings, tmp_path / "run") == {"a": Site(4, 3, 2.0)}
    assert given == [settings]


def results(local: float, ours: float) -> dict[experiment.Key, experiment.Sites]:
    found = {("wards", method, seed): SITES for method in METHODS for seed in (0, 1)}
    found["wards", "local", 0] = SITES | {"a": Site(10, local, 1.0)}
    found["wards", "pfedgp", 0] = SITES | {"a": Site(10, ours, 1.0)}
    return found


def test_a_site_below_its_own_model_is_named() -> None:
    assert experiment.site_table(results(9.0, 8.0), "wards", (0, 1)).endswith(
        "pfedgp is below the site's own model (local) at 1 of 2 sites: a.\n"
    )


def test_where_no_site_is_below_the_table_says_so() -> None:
    assert "at 0 of 2 sites.\n" in experiment.site_table(results(8.0, 8.0), "wards", (0, 1))


def test_the_table_has_means_over_seeds_and_differences() -> None:
    row = next(line for line in experiment.table(results(9.0, 7.0), ["wards"], (0, 1)).splitlines() if "local" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["wards", "2", "12", "local"]
    assert cells[4].startswith(f"{100 * 9 / 12:.1f} (")
    assert cells[6].startswith(f"{100 * -1 / 12:+.1f} (")
    assert cells[7] == "1"


def test_a_difference_of_equal_sites_is_nothing() -> None:
    assert experiment.difference(SITES, SITES) == (0.0, 0.0, 0.0)


def client(name: str, n: int, offset: float) -> ClientData:
    def split(n: int) -> TensorSplit:
        inputs = torch.linspace(-1, 1, n)[:, None]
        return TensorSplit(inputs, (inputs[:, 0] > offset).long())

    return ClientData(name, ("no", "yes"), split(n), split(n), split(n))


def test_a_rate_is_the_sites_own() -> None:
    found = experiment.rate([client("a", 10, 0.0), client("b", 10, -0.9)])
    assert (found["a"].n, found["b"].correct) == (10, 9)
    assert found["b"].nll == pytest.approx(-9 * np.log(10 / 12) - np.log(2 / 12))


def test_pooled_learns_from_all_sites() -> None:
    settings = Settings(rounds=10, evaluate_every=5, clients=2, clients_per_round=2)
    found = experiment.pooled(settings, [client("a", 20, 0.0), client("b", 20, 0.0)])
    assert min(site.correct for site in found.values()) >= 18


@pytest.mark.parametrize(
    ("summary", "done"), [(None, False), ('{"status": "stopped"}', False), ('{"status": "completed"}', True)]
)
def test_a_run_that_was_cut_off_is_not_done(tmp_path: Path, summary: str | None, done: bool) -> None:
    if summary:
        (tmp_path / "summary.json").write_text(summary)
    assert experiment.completed(tmp_path) == done
