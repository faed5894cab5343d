"""What a reader sees of the results: one headline, worst first, intervals, a positive class, and the model card."""

import json
import shutil
from pathlib import Path

import pytest

from pfedgp_core.errors import ConfigError
from pfedgp_core.metrics.class_results import ClassCounts
from pfedgp_core.metrics.intervals import share_estimate
from pfedgp_core.prior_choice import SHARED_HEAD
from server.class_results import ClassResults
from server.report.html.headline import key_results, worst_classes
from server.report.html.model_card import model_card
from server.report.html.run_files import read_run
from server.report.html.writer import write_report
from server.report.interval_bars import interval_bars
from tests.pfedgp.comparing.run_folders import write_run
from tests.server.report.html.written_run import EVIL, Page

NAMES = ["<b>0</b>", "<b>1</b>", "<b>2</b>"]
BY_CLASS = ClassResults(
    {0: ClassCounts(30, 0, 4, 6), 1: ClassCounts(6, 4, 0, 30)},
    {EVIL: {0: ClassCounts(10, 0, 4, 6), 1: ClassCounts(6, 4, 0, 10)}},
)


@pytest.fixture
def told(run: Path, tmp_path: Path) -> Path:
    """The small run, with results by class and intervals."""
    copy = shutil.copytree(run, tmp_path / "run")
    summary = json.loads((copy / "summary.json").read_text()) | BY_CLASS.summary(NAMES)
    summary["test_samples"] = 40
    summary["intervals"] = {
        "accuracy": {"low": 0.6, "high": 0.85, "over": "samples"},
        "nll_at_model_temperature": {"low": 0.4, "high": 0.5, "over": "sites"},
    }
    (copy / "summary.json").write_text(json.dumps(summary))
    rows = BY_CLASS.rows(NAMES)
    lines = [",".join(rows[0]), *(",".join(json.dumps(str(v)).replace('\\"', '""') for v in r.values()) for r in rows)]
    (copy / "classes.csv").write_text("\n".join(lines) + "\n")
    return copy


def page_of(path: Path, positive: str = "") -> Page:
    return Page(write_report(path, positive_class=positive).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_headline_is_the_number_of_the_summary_with_its_interval(told: Path) -> None:
    words = " ".join(page_of(told).words)
    assert "75.0 %" in words
    assert "95 % interval 60.0 % to 85.0 %; 40 test samples of 2 sites" in words
    first = words.index("75.0 %")
    assert first < words.index("Worst site") < words.index("Worst class") < words.index("Settings")


def test_the_worst_site_and_class_are_named_with_their_intervals(told: Path) -> None:
    found = {name: (value, more) for name, value, more in key_results(read_run(told))}
    assert found["Worst site"] == ("ward-1", "accuracy 10.0 %; 20 test samples")
    assert found["Worst class"] == ("<b>1</b>", "sensitivity 60.0 % (31.3 to 83.2); 10 samples")
    assert found["Balanced accuracy"][0] == "80.0 %"
    assert [row["class"] for row in worst_classes(read_run(told).summary)] == NAMES[1::-1]


def test_all_results_settings_and_costs_are_folded(told: Path) -> None:
    page = page_of(told)
    assert len(page.all("details")) == len(page.all("summary")) >= 5
    assert all("open" not in attributes for attributes in page.all("details"))
    assert {"All settings", "Results and their intervals", "What the run cost", "other sites"} <= set(page.words)


@pytest.mark.slow
def test_a_positive_class_tells_missed_cases_from_false_alarms(told: Path) -> None:
    kinds = [str(cell.get("class")) for cell in page_of(told, NAMES[1]).all("td")]
    assert kinds.count("missed") == 1
    assert "caution" not in kinds
    kinds = [str(cell.get("class")) for cell in page_of(told, NAMES[0]).all("td")]
    assert kinds.count("caution") == 1
    assert "missed" not in kinds
    kinds = [str(cell.get("class")) for cell in page_of(told).all("td")]
    assert kinds.count("warn") == 1


def test_the_positive_class_stands_first(told: Path) -> None:
    words = page_of(told, NAMES[0]).words
    assert f"{NAMES[0]} (positive)" in words


def test_a_positive_class_that_does_not_exist_is_refused(told: Path) -> None:
    with pytest.raises(ConfigError, match="'cancer' is no class of this run: give one of <b>0</b>"):
        write_report(told, positive_class="cancer")


def test_the_card_has_the_sections_of_mitchell_and_others_and_the_pages_numbers(told: Path) -> None:
    write_report(told)
    card = json.loads((told / "model-card.json").read_text())
    assert card == model_card(read_run(told))
    assert list(card) == [
        "Model details",
        "Intended use",
        "Factors",
        "Metrics",
        "Evaluation data",
        "Training data",
        "Results",
        "Ethical considerations",
        "Limits and recommendations",
    ]
    assert "Brier score are at temperature 1" in card["Metrics"]["Measures"]
    assert card["Results"]["Accuracy"].startswith("75.0 %; 95 % interval 60.0 % to 85.0 %")
    assert card["Evaluation data"] == {
        "Data": "digits",
        "Test samples": "40, held out by each site from its own data",
        "Not tested": "no site",
    }


def test_no_name_is_markup_in_the_card(told: Path) -> None:
    write_report(told)
    text = (told / "model-card.md").read_text()
    assert "| &lt;b&gt;1&lt;/b&gt; | 10 | 60.0 % (31.3 to 83.2) |" in text
    assert "<script>" not in text


def test_a_run_that_failed_has_a_card_without_results(run: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    shutil.copy(run / "config.toml", tmp_path / "run")
    write_report(tmp_path / "run")
    card = json.loads((tmp_path / "run" / "model-card.json").read_text())
    assert card["Results"] == {"Results": "none: the run has not tested a model"}
    assert card["Model details"]["Status"] == "cut off"


def test_bars_and_their_intervals_stay_between_0_and_1() -> None:
    shares = [share_estimate(k, 7) for k in (0, 3, 7)]
    drawing = interval_bars("Accuracy", "accuracy", [(f"site {i}", s) for i, s in enumerate(shares) if s])
    svg = drawing.svg_file()
    assert svg.count("<rect") == 1 + 1 + 3  # ground, legend, a bar each
    axis = [float(part.split(",")[0]) for part in svg.split('points="')[1:] if part]
    ticks = [x for x in axis if x >= 112]
    assert min(ticks) >= 112
    assert max(ticks) <= 312
    assert "43.0 %" not in svg
    assert "42.9 % (15.8 to 75.0)" in svg


def test_the_card_says_that_sites_share_a_head(tmp_path: Path) -> None:
    for head, words in ((True, "pfedgp about a softmax head that the sites share, "), (False, "pfedgp, ")):
        run = write_run(tmp_path / str(head), [0.9, 0.8], SHARED_HEAD if head else {})
        assert model_card(read_run(run))["Model details"]["Method"].startswith(words)
