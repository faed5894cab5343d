"""The course of an experiment, with stand-ins for the processes of its cells."""

import json
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pfedgp.experiments import course, process, runner
from pfedgp.experiments.cells import Cell, select
from pfedgp.experiments.folder import ExperimentFolder
from tests.small_experiment import TEXT, made_up, small_experiment

AGAIN = f'{TEXT}\n[rows.again]\nof = "full"\nsettings = {{ gp.predict-sweeps = 9 }}\n'


class StandIn:
    """A process that ends at its second look; the row ``full`` of seed 1 fails where `failing` is set."""

    started: ClassVar[list[Cell]] = []
    stopped: ClassVar[list[Cell]] = []
    alive, most, failing, lasting = 0, 0, False, False

    def __init__(self, folder: ExperimentFolder, cell: Cell, gpu: str = "") -> None:
        self.cell, self.run, self.began, self.rounds, self._looks = cell, folder.path, time.monotonic(), 1, 0
        StandIn.started.append(cell)
        StandIn.alive += 1
        StandIn.most = max(StandIn.most, StandIn.alive)

    def ended(self) -> bool:
        if StandIn.lasting:
            raise KeyboardInterrupt
        self._looks += 1
        StandIn.alive -= self._looks == 2
        return self._looks == 2

    def completed(self) -> bool:
        return not (StandIn.failing and (self.cell.row, self.cell.seed) == ("full", 1))

    def reason(self) -> str:
        return "no space"

    def tidy(self) -> None: ...

    def ask_to_stop(self) -> None: ...

    def stop(self, until: float) -> None:
        StandIn.stopped.append(self.cell)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    StandIn.started, StandIn.stopped, StandIn.alive, StandIn.most = [], [], 0, 0
    StandIn.failing = StandIn.lasting = False

    def result(cell: Cell, run: Path) -> dict[str, Any]:
        return made_up(cell, 0.9 if cell.settings.learning_rate == 0.1 else 0.8)

    monkeypatch.setattr(runner, "CellProcess", StandIn)
    monkeypatch.setattr(runner, "completed_result", result)
    monkeypatch.setattr(runner, "LOOK", 0.001)


def run(folder: Path, text: str = TEXT, search: bool = False, jobs: int = 2) -> int:
    experiment = small_experiment(folder, text)
    return course.run(experiment, select(experiment), folder / "out", search, jobs)


def test_every_cell_is_run_once_and_at_most_so_many_at_a_time(tmp_path: Path) -> None:
    assert run(tmp_path, jobs=3) == 0
    assert len({cell.name for cell in StandIn.started}) == len(StandIn.started) == 8
    assert StandIn.most == 3
    assert run(tmp_path) == 0
    assert len(StandIn.started) == 8


def test_a_failed_cell_is_kept_and_tried_again_by_the_next_call(tmp_path: Path) -> None:
    StandIn.failing = True
    assert run(tmp_path) == 1
    assert len(StandIn.started) == 8
    kept = json.loads((tmp_path / "out" / "cells" / "full.two.seed-1.json").read_text())
    assert (kept["status"], kept["reason"]) == ("failed", "no space")
    StandIn.failing = False
    assert run(tmp_path) == 0
    assert [cell.name for cell in StandIn.started[8:]] == ["full.two.seed-1", "full.five.seed-1"]


def test_a_search_comes_first_and_its_choice_is_in_the_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, search=True) == 0
    tried, cells = StandIn.started[:4], StandIn.started[4:]
    assert {cell.candidate for cell in tried} == {0, 1}
    assert {cell.settings.learning_rate for cell in cells if cell.row == "fedavg"} == {0.1}
    assert {cell.settings.learning_rate for cell in cells if cell.row == "full"} == {0.05}
    assert "fedavg: learning-rate = 0.1, 0.05" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "search.json").read_text())
    assert [each["best"] for each in found] == [{"learning-rate": 0.1}] * 2
    assert "Chosen: learning-rate = 0.1." in (tmp_path / "out" / "table.md").read_text()


def test_rows_that_test_another_rows_model_come_after_it(tmp_path: Path) -> None:
    assert run(tmp_path, AGAIN) == 0
    assert [bool(cell.of) for cell in StandIn.started] == [False] * 8 + [True] * 4
    assert {cell.base for cell in StandIn.started if cell.of} == {
        cell.name for cell in StandIn.started if cell.row == "full"
    }


def test_what_a_model_has_cost_is_counted_once(tmp_path: Path) -> None:
    assert run(tmp_path, AGAIN) == 0  # 8 runs of 5 seconds, and 4 rows that add nothing to their model's
    assert (
        "12 runs took 40 s of wall, without their start, and 24 s of clients' CPU time"
        in (tmp_path / "out" / "table.md").read_text()
    )


def test_an_interruption_stops_what_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    StandIn.lasting = True
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert capsys.readouterr().out.endswith("The same call goes on where this one was.\n")
    assert len(StandIn.stopped) == len(StandIn.started) == 2
    assert process.KILL_AFTER < 10


def test_the_lock_is_free_after_an_interruption(tmp_path: Path) -> None:
    StandIn.lasting = True
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    StandIn.lasting = False
    assert run(tmp_path) == 0


def test_tables_can_be_made_while_a_call_runs(tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    experiment, folder = small_experiment(tmp_path), ExperimentFolder(tmp_path / "out")
    (folder.path / "table.md").unlink()
    with folder.lock():
        assert course.collect(experiment, select(experiment), folder.path, search=False) == 0
    assert "80.0" in (folder.path / "table.md").read_text()
