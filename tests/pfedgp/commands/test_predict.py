"""``pfedgp predict`` in parts: the file is whole or what it was before, and so is the standard output."""

import csv
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.commands import predict
from tests.table_site import COLUMNS, rows, table_site

N = 5000  # of more than two parts


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    table_site().save("site")
    write("new.csv", rows(N))
    return tmp_path


def write(name: str, table: np.ndarray, columns: tuple[str, ...] = COLUMNS) -> None:
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([columns, *table.tolist()])


def test_the_table_is_that_of_all_samples_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]) == 0
    assert f"{N} predictions of site 'ward-3' at temperature 0.5; saved in p.csv" in capsys.readouterr().err
    at_once = table_site().predict(rows(N))
    with Path("p.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["id", "predicted", "p:ill", "p:well", "entropy", "epistemic", "aleatoric", "abstain"]
    assert [line[0] for line in lines] == [str(i + 1) for i in range(N)]
    assert [line[2:4] for line in lines] == [[f"{p:.6g}" for p in row] for row in at_once.probabilities.tolist()]
    assert [line[4] for line in lines] == [f"{number:.6g}" for number in at_once.entropy.tolist()]
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "-"]) == 0
    assert capsys.readouterr().out == Path("p.csv").read_text()


@pytest.mark.parametrize("out", ["p.csv", "-"])
def test_a_fault_in_the_last_part_leaves_what_was_there(
    out: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = rows(N)
    table[N - 1, 0] = np.inf
    write("bad.csv", table)
    Path("p.csv").write_text("former")
    assert main(["predict", "--site", "site", "--data", "bad.csv", "--out", out]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"bad.csv (beyond the first 4,096 samples): Missing or infinite values in 1 of {N - 4096} rows" in said.err
    assert Path("p.csv").read_text() == "former"
    assert not list(here.glob(".*"))


@pytest.fixture
def handlers() -> Iterator[None]:
    """The handlers of this process, which a command that was stopped leaves ignored."""
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stop_leaves_what_was_there(
    number: int, code: int, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("p.csv").write_text("former")
    shown = predict.Progress.show

    def stopped(progress: predict.Progress, count: int, share: float) -> None:
        assert list(here.glob(".p.csv.partial"))
        os.kill(os.getpid(), number)
        shown(progress, count, share)

    monkeypatch.setattr(predict.Progress, "show", stopped)
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]) == code
    assert Path("p.csv").read_text() == "former"
    assert not list(here.glob(".*"))


def test_columns_in_another_order_give_the_same_predictions(here: Path) -> None:
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]) == 0
    write("other.csv", rows(N)[:, ::-1], tuple(reversed(COLUMNS)))
    assert main(["predict", "--site", "site", "--data", "other.csv", "--out", "q.csv"]) == 0
    assert Path("q.csv").read_bytes() == Path("p.csv").read_bytes()


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("age", "weight"), "it lacks the column '=risk';"),
        (("age", "weight", "=risk", "ward"), "it has the column 'ward' beside the expected ones;"),
        (("age", "Weight", "=risk"), "it lacks the column 'weight' and has the column 'Weight' beside the expected"),
    ],
)
def test_columns_that_are_missing_or_too_many_are_named(
    columns: tuple[str, ...], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("new.csv", np.ones((4, len(columns))), columns)
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]) == 2
    assert f"new.csv has other columns than the site 'ward-3': {said}" in capsys.readouterr().err
    assert not Path("p.csv").exists()


def test_no_more_samples_are_held_than_those_of_a_part(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfedgp_core.site import streamed

    largest = 0
    regrouped = streamed._regrouped

    def watched(blocks: Iterator[streamed.Samples], size: int) -> Iterator[streamed.Samples]:
        nonlocal largest
        for group in regrouped(blocks, size):
            largest = max(largest, len(group.inputs.base if group.inputs.base is not None else group.inputs))
            yield group

    monkeypatch.setattr(streamed, "_regrouped", watched)
    assert main(["predict", "--site", "site", "--data", "new.csv", "--out", "p.csv"]) == 0
    assert 0 < largest <= predict.ROWS + 256
