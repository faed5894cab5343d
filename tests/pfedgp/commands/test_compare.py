"""``pfedgp compare``: what is printed, the page, and what is refused."""

import json
from pathlib import Path

import pytest

from pfedgp.cli import main
from tests.json_tables import fields
from tests.pfedgp.comparing.run_folders import write_run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    write_run(Path("first"), [0.5, 0.5, 0.5])
    write_run(Path("second"), [0.6, 0.5, 1.0], {"learning-rate": 0.2, "gp.kernel": "matern52"})
    return tmp_path


def rows(text: str) -> dict[str, list[str]]:
    """The lines that are printed, by their first cell; cells are two blanks apart."""
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]
    return {row[0]: row[1:] for row in reversed(cells) if row}


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["compare", *args]) == 0
    return capsys.readouterr().out


def test_settings_that_differ_and_no_others(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = printed(capsys, "first", "second").split("\n\n")[0]
    assert rows(settings) == {
        "Settings that differ": [],
        "setting": ["first", "second"],
        "learning-rate": ["0.05", "0.2"],
        "gp.kernel": ["rbf", "matern52"],
    }
    assert "(none)" in printed(capsys, "first", str(write_run(Path("third"), [0.5, 0.5, 0.5]))).split("\n\n")[0]


def test_results_have_the_intervals_of_their_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = rows(printed(capsys, "first", "second").split("\n\n")[1])
    assert results["accuracy"] == ["50.0 % (40.0 to 55.0)", "70.0 % (60.0 to 75.0)"]
    assert results["NLL"] == ["0.500", "0.300"]
    assert "validation accuracy" not in results


def test_clients_are_paired_and_judged_by_the_metric(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    differences = rows(printed(capsys, "first", "second").split("\n\n")[2])
    # Of 0.1, 0 and 0.5 the standard error is 0.15275, and Student's quantile of two degrees of freedom 4.3027.
    assert differences["accuracy"] == ["+20.0 points (-45.7 to +85.7)", "2", "1", "0"]
    assert differences["NLL"] == ["-0.200 (-0.857 to +0.457)", "2", "1", "0"]


def test_no_interval_of_shares_is_beyond_what_can_be(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("a"), [0.0, 0.4])
    write_run(Path("b"), [1.0, 0.9])
    differences = rows(printed(capsys, "a", "b").split("\n\n")[2])
    assert differences["accuracy"][0] == "+75.0 points (-100.0 to +100.0)"


@pytest.mark.parametrize(
    ("accuracies", "summary", "reason"),
    [
        ([0.5, 0.5, 0.5], {"partition_hash": "b"}, "split over the clients in another way, as with another seed"),
        ([0.5, 0.5], {"partition_hash": "b"}, "split over 3 clients in one run and 2 in the other"),
        ([0.5, 0.5], {"dataset": "diabetes"}, "of other data, digits and diabetes"),
    ],
)
def test_other_clients_are_not_paired(
    accuracies: list[float], summary: dict[str, str], reason: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(Path("other"), accuracies, **summary)
    tables = printed(capsys, "first", "other", "second").split("\n\n")
    assert "not paired" in tables[2]
    assert reason in tables[2]
    assert rows(tables[3])["accuracy"][1:] == ["2", "1", "0"]


def test_as_json_it_is_one_object_with_the_fields_of_the_docs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("other"), [0.5, 0.5], partition_hash="b")
    assert main(["compare", "first", "second", "other", "--json", "--out", "c.html"]) == 0
    said = capsys.readouterr()
    assert said.err.strip().endswith("c.html")
    found = json.loads(said.out)
    assert set(found) - fields("compare") == set()
    assert [run["name"] for run in found["runs"]] == ["first", "second", "other"]
    assert found["settings"]["learning-rate"] == [0.05, 0.2, 0.05]
    assert found["results"]["accuracy"][1] == pytest.approx({"value": 0.7, "low": 0.6, "high": 0.75})
    paired, apart = found["pairs"]
    assert (paired["name"], paired["against"], paired["reason"]) == ("second", "first", None)
    accuracy, nll = paired["metrics"]["accuracy"], paired["metrics"]["nll"]
    assert (accuracy["better"], accuracy["equal"], accuracy["worse"], accuracy["clients"]) == (2, 1, 0, 3)
    assert accuracy["difference"] == pytest.approx(0.2)
    assert (nll["better"], nll["worse"]) == (2, 0)
    assert "split over 3 clients in one run and 2 in the other" in apart["reason"]
    assert apart["metrics"] == {}


def test_the_page_has_all_tables_and_escapes_names(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("<b>x"), [0.5, 0.6, 0.7])
    text = printed(capsys, "first", "<b>x", "second", "--out", "c.html")
    assert text.splitlines()[-1].endswith("c.html")
    page = Path("c.html").read_text()
    assert "<b>x" not in page
    assert "&lt;b&gt;x" in page
    assert "+20.0 points (-45.7 to +85.7)" in page
    assert "Settings that differ" in page
    assert page.count("<table") == 4
    assert page.count("Settings that differ</") == 1  # a heading, and no caption that says it again


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["first"], 2, "at least two runs"),
        (["first", "./first"], 2, "given twice"),
        (["first", "none"], 2, "There is no run in"),
        (["first", "empty"], 2, "has no results yet"),
        (["first", "second", "--out", "c.txt"], 2, "a name that ends in .html"),
        (["first", "second", "--out", "none/c.html"], 2, "in a folder that exists"),
    ],
)
def test_mistakes(args: list[str], code: int, said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("empty"), [0.5])
    Path("empty/clients.csv").unlink()
    assert main(["compare", *args]) == code
    assert said in capsys.readouterr().err


def test_runs_of_one_name_are_told_apart_by_their_paths(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(Path("other/first"), [0.5, 0.5, 0.5])
    assert rows(printed(capsys, "first", "other/first").split("\n\n")[1])["accuracy"]
    assert "other/first against first" in printed(capsys, "first", "other/first")
