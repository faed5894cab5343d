"""The page: what it says of a run, in which order, and that it is whole for every reader."""

import json
import re
import shutil
from pathlib import Path

import pytest

from server.report.html.run_files import read_run, worst_first
from server.report.html.writer import write_report
from tests.server.report.html.written_run import EVIL, Page, classification_run


def test_every_part_is_reachable_without_sight_or_mouse(page: Page) -> None:
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("h1")) == 1
    assert len(page.all("main")) == 1
    assert all(a.get("role") == "img" and a.get("aria-label") for a in page.all("svg"))
    assert all(a.get("scope") in ("row", "col") for a in page.all("th"))
    assert len(page.all("table")) == len(page.all("caption"))
    frames = [a for a in page.all("div") if a.get("class") == "frame"]
    assert len(frames) == len(page.all("table"))
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in frames)
    sortable = [a for a in page.all("th") if "aria-sort" in a]
    assert len(page.all("button")) == len(sortable) > 5
    ids = {a["id"] for _, a in page.elements if "id" in a}
    assert {str(a["href"])[1:] for a in page.all("a")} <= ids


def test_the_page_tells_the_numbers(page: Page) -> None:
    said = " ".join(page.words)
    for text in ("75.0 %", "3.0 MB", "1.0 MB", "digits, 3 sites"):
        assert text in said
    assert "seed 7" in said
    assert "(default 0)" in said
    assert "jitter added" in said
    assert "n/a" in said
    assert "temperature 0.1 has the smallest ECE (the smallest that was tried, only 40 validation samples)." in said
    assert "The model's temperature, chosen by validation data of 3 clients, is 0.54." in said
    assert re.search(r"ECE and NLL are 0\.\d+ and \d\.\d+ at temperature 1, .* at temperature 0\.1, .* 0\.54\.", said)
    assert "0.1 (smallest ECE)" in said
    assert "0.54 (the model's)" in said
    assert "Model temperature 0.54" in said
    assert "0.432" in said


def test_a_former_run_has_one_temperature(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    calibration = json.loads((copy / "calibration.json").read_text())
    for key in ("model_temperature", "temperature_rule", "at_model_temperature"):
        del calibration[key]
    (copy / "calibration.json").write_text(json.dumps(calibration))
    assert "0.1 (smallest ECE, the model's)" in Page(write_report(copy).read_text()).words


def test_the_worst_clients_come_first(run: Path) -> None:
    rows = worst_first(read_run(run).clients)
    assert [row["name"] for row in rows] == ["ward-1", EVIL, "silent"]
    text = (run / "report.html").read_text()
    table = text[text.index('class="sortable"') :]
    assert table.index(">ward-1<") < table.index("ward $x_3$") < table.index(">silent<")


def test_sites_own_data_are_named_and_no_setting_of_a_simulation_is_shown(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    origin = '# data: "own data of 3 sites"\n# own_data: true\n'
    (copy / "config.toml").write_text(origin + (copy / "config.toml").read_text())
    words = Page(write_report(copy).read_text()).words
    assert any(word.startswith("own data of 3 sites") and "3 sites, 3" not in word for word in words)
    assert not {"digits", "dataset", "partition"} & set(words)
    assert "rounds" in words


def test_many_classes_are_a_map_and_the_worst_mistakes(tmp_path: Path) -> None:
    path = classification_run(tmp_path / "run", classes=60)
    page = Page(write_report(path).read_text())
    assert any("Class confusion: 4 of 40" in str(a["aria-label"]) for a in page.all("svg"))
    assert "The most frequent mistakes" in page.words
    assert "40.0 %" in page.words


@pytest.mark.slow
def test_many_clients_have_all_rows_and_the_worst_diagrams(tmp_path: Path) -> None:
    path = classification_run(tmp_path / "run", names=tuple(f"c{i}" for i in range(130)))
    page = Page(write_report(path).read_text())
    assert sum("Reliability of" in str(a["aria-label"]) for a in page.all("svg")) == 120
    assert "10 more sites are in calibration.json." in page.words
    assert "c129" in page.words


def test_a_regression_is_reported_by_its_errors(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / "calibration.json").unlink()
    (copy / "clients.csv").write_text("name,n_train,n_test,rmse,coverage,r2\na,9,3,1.5,0.9,n/a\nb,9,3,2.5,1.0,0.1\n")
    record = {"round": 1, "train_loss": None, "validation_rmse": 2.0, "best": True}
    (copy / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    (copy / "summary.json").write_text(json.dumps({"status": "completed", "rmse": 2.0, "r2": None, "clients": 2}))
    page = Page(write_report(copy).read_text())
    assert {"validation RMSE".capitalize().replace("rmse", "RMSE"), "RMSE", "2.500", "90.0 %"} <= set(page.words)
    assert [row["name"] for row in worst_first(read_run(copy).clients)] == ["b", "a"]
    assert not any("Reliability" in str(a["aria-label"]) for a in page.all("svg"))
