"""Bounds at the novel clients of a run: points, refusals, table, CSV and figure."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from flwr.supercore.task_identity import TaskIdentity

from pfedgp.experiments.bounds import bound_points
from pfedgp.experiments.bounds_figure import bounds_figure
from pfedgp.experiments.bounds_table import RISKS, bounds_csv, bounds_page, certified
from pfedgp.experiments.cells import Cell, select
from pfedgp.experiments.specification import Bounds
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.csv_text import read_csv
from tests.fakegrid import FakeGrid
from tests.federation_run import QUICK, client_app, start
from tests.small_experiment import made_up, small_experiment

pytestmark = pytest.mark.slow

SETTINGS = Settings(
    clients=10, novel_clients=2, clients_per_round=3, rounds=4, evaluate_every=2, feature_dim=8, gp=QUICK
)
SHARES = (0.1, 0.5, 1.0)
TEXT = """
title = "Bounds"
seeds = [0, 1]

[settings]
clients = 5
clients-per-round = 2

[columns.two]
settings = { novel-clients = 2 }

[rows.full]
settings = { variant = "full" }

[rows.bound]
title = "certified"
of = "full"
bounds = { shares = [1.0, 0.5], delta = 0.02 }
"""


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    run = start(FakeGrid(client_app, SETTINGS.clients), SETTINGS, tmp_path_factory.mktemp("run") / "out").path
    return bound_points(run, SETTINGS, Bounds(SHARES, 0.05))


def test_every_novel_client_has_a_point_for_each_size(points: list[dict[str, Any]]) -> None:
    assert [(p["client"], p["share"]) for p in points] == [(f"client-0{i}", s) for i in (8, 9) for s in SHARES]
    assert all(small["n"] < large["n"] for small, large in zip(points[1::3], points[2::3], strict=True))


def test_too_few_samples_are_refused_with_the_reason(points: list[dict[str, Any]]) -> None:
    assert [p["share"] for p in points if p["refused"]] == [0.1, 0.1]
    assert "too few" in points[0]["refused"]


def test_errors_are_measured_and_bounds_are_above_them(points: list[dict[str, Any]]) -> None:
    for point in points:
        if not point["refused"]:
            assert all(0 <= point["errors"][key] < point["bounds"][key] <= 1 for key in RISKS)
            # The vote of a client's classifier errs less often than twice its draws, on any samples.
            assert point["errors"]["deployed"] <= 2 * point["errors"]["wrong_probability"]


def test_more_samples_give_a_smaller_bound(points: list[dict[str, Any]]) -> None:
    half, whole = (sum(p["bounds"]["gibbs"] for p in points if p["share"] == share) for share in SHARES[1:])
    assert whole < half


def _found(tmp_path: Path, refused: bool = False) -> tuple[Any, list[Cell], Any]:
    """Experiment, cells and made-up results: of seed 1 none; where `refused`, none at half of the samples."""

    def point(client: str, share: float, error: float) -> dict[str, Any]:
        numbers = {"bounds": dict.fromkeys(RISKS, 0.5), "errors": dict.fromkeys(RISKS, error), "paper": 0.25}
        given: dict[str, Any] = {"client": client, "share": share, "n": int(80 * share), "tested": 40, "refused": ""}
        none = {"bounds": None, "errors": None, "paper": None, "refused": "too | few"}
        return given | (none if refused and share < 1 else numbers)

    def result(cell: Cell) -> dict[str, Any] | None:
        if not cell.bounds or cell.seed == 1:
            return None if cell.seed == 1 else made_up(cell, 0.9)
        return made_up(cell, 0.9, points=[point("a", 0.5, 0.1), point("a", 1.0, 0.2), point("b", 1.0, 0.6)])

    experiment = small_experiment(tmp_path, TEXT)
    return experiment, select(experiment).cells(experiment), result


def test_the_table_has_means_by_size_and_counts_what_is_below(tmp_path: Path) -> None:
    text = "\n".join(bounds_page(certified(*_found(tmp_path))))
    assert "| certified, two | 0.5 | 40 | 1 | 0.100, 0.500 |" in text
    assert "| certified, two | 1 | 80 | 2 | 0.400, 0.500 | 0.400, 0.500 | 0.400, 0.500 | 0.250 | 3 of 6 |" in text
    assert "at delta 0.02" in text


def test_lines_of_the_table_have_as_many_cells(tmp_path: Path) -> None:
    for refused in (False, True):
        lines = [line for line in bounds_page(certified(*_found(tmp_path, refused))) if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1


def test_a_row_without_results_says_so_in_a_line_as_long_as_the_others(tmp_path: Path) -> None:
    experiment, cells, _ = _found(tmp_path)
    lines = [line for line in bounds_page(certified(experiment, cells, lambda _: None)) if line.startswith("|")]
    assert "not run" in lines[-1]
    assert len({line.count("|") for line in lines}) == 1


def test_csv_has_a_line_for_each_point_and_refusals_in_words(tmp_path: Path) -> None:
    lines = read_csv(bounds_csv(*_found(tmp_path, refused=True)))
    assert [line["client"] for line in lines] == ["a", "a", "b"]
    assert (lines[0]["gibbs_bound"], lines[0]["refused"]) == ("", "too | few")
    assert (lines[1]["gibbs_error"], lines[1]["paper_estimate"]) == ("0.2", "0.25")


def test_the_figure_has_a_dot_for_each_point_and_says_what_is_below(tmp_path: Path) -> None:
    drawing = bounds_figure("T", certified(*_found(tmp_path)))
    circles = [each for each in ET.fromstring(drawing.svg_file()).iter() if each.tag.endswith("circle")]
    # Three bounds in two panels, three estimates in one, two sizes and the estimate in the legend.
    assert len(circles) == 3 * 2 + 3 + 2 + 1
    assert "2 of 6 points below the diagonal" in drawing.label


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('of = "full"\n', "", "certifies another row's model"),
        ("{ novel-clients = 2 }", "{ novel-clients = 0 }", "never train"),
        ('{ variant = "full" }', '{ variant = "ip-data" }', "variant = 'full' or 'ip-compute'"),
        ("[1.0, 0.5]", "[1.5]", "shares are above 0"),
        ("[1.0, 0.5]", "[]", "no shares"),
        ("delta = 0.02", "delta = 2.0", "delta between 0 and 1"),
        ("delta = 0.02", "epsilon = 2.0", "epsilon"),
    ],
)
def test_a_row_that_could_not_be_certified_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        small_experiment(tmp_path, TEXT.replace(old, new))
