"""Tables, figure and the section of a page: all numbers are there, and what is missing is said."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pfedgp.experiments.cells import select
from pfedgp.experiments.folder import ExperimentFolder
from pfedgp.experiments.head import command
from pfedgp.experiments.latex import escaped
from pfedgp.experiments.outputs import Outputs, put_section
from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.csv_text import read_csv
from tests.small_experiment import made_up, small_experiment


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    """A folder with outputs of budget 0.5: full at both seeds, fedavg failed at two classes and not run at five."""
    experiment = small_experiment(tmp_path)
    selection = select(experiment, budget=0.5)
    folder = ExperimentFolder(tmp_path / "out")
    with folder.lock():
        for cell in selection.cells(experiment):
            given: dict[str, Any] = made_up(cell, 0.9 + 0.02 * cell.seed)
            if cell.row == "fedavg":
                given = {"status": "failed", "reason": "no | space"}
            if (cell.row, cell.column) != ("fedavg", "five"):
                folder.keep(cell, given)
        outputs = Outputs(folder, experiment, selection, search=False)
        outputs.write_tables()
        outputs.write_figure()
        yield folder.path


def test_markdown_has_paper_ours_and_difference(written: Path) -> None:
    text = (written / "table.md").read_text()
    assert "| pFedGP | 90.0 ± 0.3 | 91.0 ± 1.0 | +1.0 ± 1.0 | 91.0 ± 1.0 | 0.020" in text


def test_the_round_of_the_tested_model_is_told_for_seeds_that_differ(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    selection = select(experiment, rows=["full"], columns=["two"])
    folder = ExperimentFolder(tmp_path / "out")
    with folder.lock():
        for cell in selection.cells(experiment):
            folder.keep(cell, made_up(cell, 0.9, best_round=40 + cell.seed))
        Outputs(folder, experiment, selection, search=False).write_tables()
    assert "| 3 | 40, 41 | 2 |" in (folder.path / "table.md").read_text()


def test_the_command_names_the_file_that_was_given(tmp_path: Path) -> None:
    experiment = replace(small_experiment(tmp_path), call="my tables/small.toml")
    called = command(experiment, select(experiment, budget=0.5), search=False)
    assert called == "pfedgp experiment 'my tables/small.toml' --budget 0.5"


def test_rows_whose_round_was_chosen_over_own_classes_are_named(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    selection = select(experiment, columns=["two"])
    folder = ExperimentFolder(tmp_path / "out")
    with folder.lock():
        for cell in selection.cells(experiment):
            settings = {"best-classes": "own"} if cell.row == "fedavg" else {}
            folder.keep(cell, made_up(cell, 0.9, settings=settings))
        Outputs(folder, experiment, selection, search=False).write_tables()
    assert (
        "over all classes that it knows; over each client's own classes for: FedAvg. Few"
        in (folder.path / "table.md").read_text()
    )


def test_markdown_says_what_is_missing(written: Path) -> None:
    text = (written / "table.md").read_text()
    assert "| FedAvg |  | failed: no / space |" in text
    assert text.endswith("Not run: FedAvg.\n") or "Not run: FedAvg.\n\n" in text
    assert text.count("| FedAvg |") == 1


def test_markdown_says_that_the_budget_is_not_the_papers(written: Path) -> None:
    text = (written / "table.md").read_text()
    assert "Budget 0.5: rounds, evaluate-every" in text
    assert "The numbers of the paper are of its whole budget." in text
    assert "pfedgp experiment small --budget 0.5" in text


def test_every_line_of_a_markdown_table_has_as_many_cells(written: Path) -> None:
    lines = [line for line in (written / "table.md").read_text().splitlines() if line.startswith("|")]
    assert len(lines) == 7
    assert len({line.count("|") for line in lines}) == 1


def test_csv_has_a_line_for_each_row_and_column(written: Path) -> None:
    lines = {(line["row"], line["column"]): line for line in read_csv((written / "table.csv").read_text())}
    assert len(lines) == 4
    assert float(lines["full", "two"]["ours"]) == pytest.approx(91.0)
    assert lines["full", "two"]["paper_error"] == "0.3"
    assert lines["fedavg", "five"]["state"] == "not run"
    assert lines["fedavg", "five"]["ours"] == ""
    assert (lines["full", "two"]["commits"], lines["fedavg", "five"]["commits"]) == ("abc", "")


def test_rows_of_several_commits_are_told_apart(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    selection = select(experiment, columns=["two"], seeds=[0])
    folder = ExperimentFolder(tmp_path / "out")
    with folder.lock():
        for cell in selection.cells(experiment):
            folder.keep(cell, made_up(cell, 0.9, commit="def" if cell.row == "fedavg" else "abc"))
        Outputs(folder, experiment, selection, search=False).write_tables()
    assert "\nCommits: full of abc (0); fedavg of def (0). " in (folder.path / "table.md").read_text()


def test_curves_have_a_line_for_each_evaluation(written: Path) -> None:
    lines = read_csv((written / "curves.csv").read_text())
    assert len(lines) == 4  # the two columns and seeds of full
    assert (lines[1]["round"], lines[1]["cpu_seconds"], lines[1]["accuracy"]) == ("2", "2.5", "0.9")
    assert lines[1]["nll"] == ""


def test_latex_shows_special_characters_as_they_are(written: Path) -> None:
    text = (written / "table.tex").read_text()
    assert r"Digits \& co" in text
    assert r"$90.0 \pm 0.3$ & $91.0 \pm 1.0$" in text
    assert escaped("50 % of a_b") == r"50 \% of a\_b"


def test_the_figure_is_svg_and_png(written: Path) -> None:
    root = ET.fromstring((written / "figure.svg").read_text())
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"pFedGP", "FedAvg", "2 classes", "5 classes", "not run"} <= set(texts)
    assert (written / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_section_is_added_and_then_replaced(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("# Results\n\nWords before.\n")
    put_section(page, "small", "first\n")
    put_section(page, "other", "kept\n")
    put_section(page, "small", "second\n")
    text = page.read_text()
    assert "first" not in text
    assert text.startswith("# Results\n\nWords before.\n\n<!-- experiment small -->\n\nsecond\n\n<!-- end of")
    assert text.count("kept") == 1


def test_half_a_section_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("<!-- experiment small -->\n")
    with pytest.raises(ArtefactError, match="without"):
        put_section(page, "small", "text")
    assert page.read_text() == "<!-- experiment small -->\n"
