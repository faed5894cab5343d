"""The two pictures at the top of a run's folder are figures of the report, under the names of the task."""

import logging
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.regression import RegressionSums, regression_sums
from pfedgp_core.metrics.summary import Sums
from server.report.figures import intervals, record_figure, reliability
from server.report.pictures import write_pictures

CLASSES = metric_sums([[0.2, 0.8], [0.6, 0.4]], [1, 1])
TARGETS = regression_sums([1.0, 2.0, 4.0], [0.5, 0.5, 1.0], [1.2, 1.0, 4.5], 2.0, 1.5)
HISTORY = [
    {"round": 2, "validation_accuracy": 0.5, "validation_standard_rmse": 0.9, "best": True},
    {"round": 4, "validation_accuracy": 0.75, "validation_standard_rmse": 0.7, "best": True},
]


@pytest.mark.parametrize(
    ("sums", "names"), [(CLASSES, {"accuracy.png", "reliability.png"}), (TARGETS, {"rmse.png", "coverage.png"})]
)
def test_each_task_has_two(sums: Sums, names: set[str], tmp_path: Path) -> None:
    write_pictures(tmp_path, HISTORY, sums)
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize(("sums", "name"), [(CLASSES, "accuracy"), (TARGETS, "rmse")])
def test_the_first_is_the_figure_of_the_score(sums: Sums, name: str, tmp_path: Path) -> None:
    key = {"accuracy": "validation_accuracy", "rmse": "validation_standard_rmse"}[name]
    write_pictures(tmp_path, HISTORY, sums)
    assert (tmp_path / f"{name}.png").read_bytes() == record_figure(HISTORY, key).png()


def test_the_second_of_a_classification_is_its_reliability(tmp_path: Path) -> None:
    write_pictures(tmp_path, HISTORY, CLASSES)
    assert (tmp_path / "reliability.png").read_bytes() == reliability("Reliability, all clients", CLASSES).png()


def test_the_second_of_a_regression_is_its_coverage(tmp_path: Path) -> None:
    write_pictures(tmp_path, HISTORY, TARGETS)
    assert (tmp_path / "coverage.png").read_bytes() == intervals("Coverage, all clients", TARGETS).png()


@pytest.mark.parametrize("sums", [MetricSums(), RegressionSums()])
def test_a_run_without_results_has_them_too(sums: Sums, tmp_path: Path) -> None:
    write_pictures(tmp_path, [], sums)
    colours = [len(np.unique(np.asarray(Image.open(path)))) for path in tmp_path.iterdir()]
    assert [many > 10 for many in colours] == [True, True]


@pytest.fixture
def no_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures over rounds cannot be drawn."""

    def fail(rounds: object, key: str) -> bytes:
        raise RuntimeError("no fonts")

    monkeypatch.setattr("server.report.pictures.record_figure", fail)


@pytest.mark.usefixtures("no_fonts")
def test_a_failing_picture_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    write_pictures(tmp_path, HISTORY, CLASSES)
    assert [r.getMessage() for r in caplog.records] == [
        "The picture accuracy.png could not be made (RuntimeError: no fonts)."
    ]


@pytest.mark.usefixtures("no_fonts")
def test_a_failing_picture_costs_no_other(tmp_path: Path) -> None:
    write_pictures(tmp_path, HISTORY, CLASSES)
    assert [path.name for path in tmp_path.iterdir()] == ["reliability.png"]
