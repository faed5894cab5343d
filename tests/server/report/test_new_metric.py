"""A metric is one file and one line in the registry: a newcomer's file, dropped in, is everywhere that results are."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from pfedgp_core.registry import METRICS, Entry
from tests.federation_run import SMALL
from tests.server.test_outputs import run_app, samples, scalars

pytestmark = pytest.mark.slow

FILE = '''
"""Error rate: the share of samples whose most probable class is another than the true one."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums


def error_rate(sums: MetricSums) -> float:
    return 1 - sums.correct / sums.n


ERROR_RATE = Metric(
    key="error_rate",
    title="share of errors",
    of=error_rate,
    tasks=("classification",),
    better="lower",
    shown=("validation", "client", "pooled"),
    share=True,
)
'''


@dataclass
class Told:
    """A run, and where else it was told."""

    path: Path
    console: str
    prometheus: Path
    tensorboard: Path

    @property
    def error(self) -> float:
        """What the metric must be."""
        return 1 - float(json.loads((self.path / "summary.json").read_text())["accuracy"])


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A run of a federation that knows the metric."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    folder = tmp_path_factory.mktemp("metric")
    (folder / "newcomers_metric.py").write_text(FILE)
    printed, run = io.StringIO(), Told(folder / "run", "", folder / "run.prom", folder / "tb")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.syspath_prepend(folder)
        patch.setitem(METRICS, "error_rate", Entry("newcomers_metric:ERROR_RATE", "share of errors"))
        outputs = {"prometheus": str(run.prometheus), "tensorboard": str(run.tensorboard)}
        run_app(SMALL.replace(rounds=2), run.path, **outputs)
        run.console = printed.getvalue()
        yield run


def test_it_is_in_the_summary(told: Told) -> None:
    assert json.loads((told.path / "summary.json").read_text())["error_rate"] == told.error


def test_it_is_a_column_of_the_clients(told: Told) -> None:
    with (told.path / "clients.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["error_rate"]) for row in rows] == pytest.approx([1 - float(row["accuracy"]) for row in rows])


def test_it_is_in_the_record_of_a_round(told: Told) -> None:
    record = json.loads((told.path / "metrics.jsonl").read_text().splitlines()[-1])
    assert record["validation_error_rate"] == 1 - record["validation_accuracy"]


def test_it_is_in_the_pages_results(told: Told) -> None:
    row = f'<th scope="row">Share of errors</th><td>{100 * told.error:.1f} %</td>'
    assert row in (told.path / "report.html").read_text()


def test_it_is_a_column_of_the_page(told: Told) -> None:
    assert '<button type="button">share of errors</button>' in (told.path / "report.html").read_text()


def test_it_is_a_figure_over_rounds(told: Told) -> None:
    assert (told.path / "figures" / "validation_error_rate.svg").is_file()


def test_it_is_in_the_consoles_line_of_a_round(told: Told) -> None:
    (line,) = [line for line in told.console.splitlines() if line.startswith("round 2/2")]
    assert "  error_rate " in line


def test_it_is_a_column_of_the_console(told: Told) -> None:
    (heads,) = [line for line in told.console.splitlines() if line.startswith("client ")]
    assert "error_rate" in heads.split()


def test_it_is_in_the_consoles_result(told: Told) -> None:
    (line,) = [line for line in told.console.splitlines() if line.startswith("federated ")]
    assert line.endswith(f"  error_rate {100 * told.error:.1f} %")


def test_it_is_in_tensorboard(told: Told) -> None:
    ((_, value),) = scalars(told.tensorboard / "run")["test/error_rate"]
    assert value == told.error


def test_it_is_in_prometheus(told: Told) -> None:
    assert samples(told.prometheus)["pfedgp_test_error_rate", ()] == told.error
