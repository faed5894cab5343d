"""The report: what its page says and how it is built, from runs of every kind, and nothing that it loads."""

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from server.report.html.drawing import DARK, LIGHT, Drawing
from server.report.html.figures import over_rounds, reliability
from server.report.html.run_files import read_run, worst_first
from server.report.html.writer import write_report
from server.run.artefacts import RunFolder
from server.run.settings import dump_settings

EVIL = "<script>alert(1)</script>\"' & ward $x_3$"
VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Parses strictly enough: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.open, self.elements = text, [], []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def classification_run(path: Path, names: tuple[str, ...] = ("ward-1", EVIL), classes: int = 3) -> Path:
    """A small run, as the server leaves it."""
    path.mkdir(parents=True)
    (path / "config.toml").write_text(dump_settings(Settings(seed=7)))
    rounds = [
        {
            "round": t,
            "ok": 5,
            "failed": {},
            "train_loss": 1 / t,
            "validation_accuracy": 0.9 if t == 2 else None,
            "validation_ece": 0.1 if t == 2 else None,
            "best": t == 2,
            "counters": {"jitter_added": 1},
            "bytes_sent": 1_500_000,
            "bytes_received": 500_000,
            "seconds": {"round": 1.0, "train": 0.75, "evaluate": 0.25, "network": 0.5, "gp": 2.0, "eta": 0.0},
        }
        for t in (1, 2)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rounds))
    rng = np.random.default_rng(0)
    sums = {name: metric_sums(rng.dirichlet(np.ones(classes), 20), rng.integers(0, classes, 20)) for name in names}
    pooled = sum(sums.values(), MetricSums.zero())
    with (path / "clients.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "classes", "n_train", "n_test", "accuracy", "nll", "ece", "brier"])
        writer.writerows([name, "0;1", 40, 20, (i + 1) / 10, 0.5, 0.1, 0.2] for i, name in enumerate(names))
        writer.writerow(["silent", "0;2", 40, 20, "n/a", "n/a", "n/a", "n/a"])
    calibration = {
        "split": "test",
        "temperature": 0.1,
        "model_temperature": 0.5,
        "pooled": pooled.to_dict(),
        "clients": {name: s.to_dict() for name, s in sums.items()},
        "temperatures": [
            {"temperature": t, "validation": pooled.to_dict(), "test": pooled.to_dict()} for t in TEMPERATURE_GRID
        ],
        "class_names": [f"<b>{i}</b>" for i in range(classes)],
        "confusion": [[0, 0, 30], [1, 0, 4], [1, 1, 6]],
    }
    (path / "calibration.json").write_text(json.dumps(calibration))
    summary = {"status": "completed", "accuracy": 0.75, "ece": 0.1, "seconds": 3.0, "clients": 3}
    summary |= {"temperature": 0.1, "model_temperature": 0.5, "nll_at_model_temperature": 0.4321}
    (path / "summary.json").write_text(json.dumps(summary))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = classification_run(tmp_path_factory.mktemp("report") / "first & last")
    write_report(path)
    return path


@pytest.fixture(scope="module")
def page(run: Path) -> Page:
    return Page((run / "report.html").read_text(encoding="utf-8"))


def test_the_page_needs_nothing_else(page: Page) -> None:
    assert "http" not in page.text.replace("http-equiv", "")
    assert "@import" not in page.text
    assert not re.search(r"url\(|\bfetch\(|XMLHttpRequest|\bimport\(", page.text)
    assert [a["href"] for a in page.all("link")] == ["data:,"]
    assert not any("src" in attributes for _, attributes in page.elements)
    assert all((a["href"] or "").startswith("#") for a in page.all("a"))
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)


def test_the_policy_allows_the_one_script_and_no_other(page: Page) -> None:
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_names_are_text(page: Page) -> None:
    assert len(page.all("script")) == 1
    assert EVIL in page.words
    assert "<b>1</b>" in page.words
    assert not any("alert" in str(a) for tag, a in page.elements if tag == "script")
    assert "pFedGP run first & last" in page.words
    (evil,) = [a for a in page.all("svg") if EVIL in str(a["aria-label"])]
    assert str(evil["aria-label"]).startswith(f"Reliability of {EVIL}: accuracy ")


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
    for text in ("75.0 %", "3.0 MB", "1.0 MB", "digits, full GP, 3 clients"):
        assert text in said
    assert "seed 7" in said
    assert "(default 0)" in said
    assert "jitter added" in said
    assert "n/a" in said
    assert "temperature 0.1 has the smallest ECE (the grid's edge, only 40 validation samples);" in said
    assert "the model's temperature, by a more prudent rule, is 0.5." in said
    assert re.search(r"ECE and NLL are 0\.\d+ and \d\.\d+ at temperature 1, .* at temperature 0\.1, .* 0\.5\.", said)
    assert "0.1 (smallest ECE)" in said
    assert "0.5 (the model's)" in said
    assert "Model temperature 0.5" in said
    assert "0.432" in said


def test_a_former_run_has_one_temperature(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    calibration = json.loads((copy / "calibration.json").read_text())
    del calibration["model_temperature"]
    (copy / "calibration.json").write_text(json.dumps(calibration))
    assert "0.1 (smallest ECE, the model's)" in Page(write_report(copy).read_text()).words


def test_the_worst_clients_come_first(run: Path) -> None:
    rows = worst_first(read_run(run).clients)
    assert [row["name"] for row in rows] == ["ward-1", EVIL, "silent"]
    text = (run / "report.html").read_text()
    table = text[text.index('class="sortable"') :]
    assert table.index(">ward-1<") < table.index("ward $x_3$") < table.index(">silent<")


def test_figures_are_files_too(run: Path) -> None:
    names = {path.name for path in (run / "figures").iterdir()}
    stems = {"train_loss", "validation_accuracy", "validation_ece", "reliability", "reliability_clients", "confusion"}
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    for stem in stems:
        root = ET.parse(run / "figures" / f"{stem}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in ET.tostring(root, "unicode")
        picture = Image.open(run / "figures" / f"{stem}.png")
        assert picture.width == 2 * float(root.get("width", 0))
        assert len(np.unique(np.asarray(picture))) > 10


def test_certificates_are_shown_where_there_are_some(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    certificate: dict[str, Any] = {"name": EVIL, "method": "kl", "delta": 0.05, "n": 50, "bound_gibbs": 0.31}
    certificate |= {"bound_vote": 0.62, "empirical_error": None, "conditions": ["a < b", "c"]}
    (copy / "certificates.json").write_text(json.dumps([certificate]))
    said = Page(write_report(copy).read_text()).words
    assert {"Certificates", "0.31", "0.05", "50", "a < b; c"} <= set(said)


def test_certificates_of_certify_are_collected(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    vector = np.ones(3, np.float32)
    RunFolder(copy, {}).save_model("best", vector, {})
    certificate: dict[str, Any] = {"method": "pac-bayes", "n": 51, "delta": 0.01, "site": EVIL, "classes": ["4", "6"]}
    certificate |= {"deployed": {"empirical": 0.0, "bound": 0.52204171}, "conditions": ["a < b", "c"]}
    certificate |= {"model_sha256": hashlib.sha256(vector.tobytes()).hexdigest()}
    file, other = tmp_path / "one.json", tmp_path / "other.json"
    file.write_text(json.dumps(certificate))
    for _ in range(2):  # the second time it is there already
        assert main(["report", str(copy), "--certificate", str(file)]) == 0
    assert json.loads((copy / "certificates.json").read_text()) == [certificate]
    words = Page((copy / "report.html").read_text()).words
    assert {"Certificates", "4; 6", "0.5221", "a < b; c"} <= set(words)
    assert words.count("pac-bayes") == 1

    other.write_text(json.dumps(certificate | {"model_sha256": "ab"}))
    for wrong, text in ((other, "about the model ab"), (tmp_path, "Cannot read"), (copy / "config.toml", "is no")):
        capsys.readouterr()
        assert main(["report", str(copy), "--certificate", str(wrong)]) == 2
        assert text in capsys.readouterr().err
    assert json.loads((copy / "certificates.json").read_text()) == [certificate]


def test_many_classes_are_a_map_and_the_worst_mistakes(tmp_path: Path) -> None:
    path = classification_run(tmp_path / "run", classes=60)
    page = Page(write_report(path).read_text())
    assert any("Class confusion: 4 of 40" in str(a["aria-label"]) for a in page.all("svg"))
    assert "The most frequent mistakes" in page.words
    assert "40.0 %" in page.words


def test_many_clients_have_all_rows_and_the_worst_diagrams(tmp_path: Path) -> None:
    path = classification_run(tmp_path / "run", names=tuple(f"c{i}" for i in range(130)))
    page = Page(write_report(path).read_text())
    assert sum("Reliability of" in str(a["aria-label"]) for a in page.all("svg")) == 120
    assert "10 more clients are in calibration.json." in page.words
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


@pytest.mark.parametrize(
    ("left", "text"),
    [
        ((), "This run was cut off"),
        (("metrics.jsonl",), "This run was cut off"),
        (("summary.json",), "75.0 %"),
        (("metrics.jsonl", "summary.json", "clients.csv"), "Each client is tested with its own model"),
    ],
)
def test_a_run_may_have_less(run: Path, tmp_path: Path, left: tuple[str, ...], text: str) -> None:
    (tmp_path / "run").mkdir()
    for name in ("config.toml", *left):
        shutil.copy(run / name, tmp_path / "run")
    page = Page(write_report(tmp_path / "run").read_text())
    assert text in " ".join(page.words)


def test_a_torn_last_line_is_left_out(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    with (copy / "metrics.jsonl").open("a") as file:
        file.write('{"round": 3, "train_l')
    assert len(read_run(copy).rounds) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("summary.json", "{"),
        ("summary.json", "[]"),
        ("calibration.json", "{}"),
        ("calibration.json", '{"pooled": 3}'),
        ("metrics.jsonl", "x\n{}\n"),
        ("certificates.json", "{}"),
        ("config.toml", "a = ="),
    ],
)
def test_a_damaged_file_is_named(run: Path, tmp_path: Path, name: str, content: str) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / name).write_text(content)
    with pytest.raises(ArtefactError, match=name):
        write_report(copy)


def test_the_command(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "page.html"
    assert main(["report", str(run), "--out", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}\n"
    assert target.read_text() == (run / "report.html").read_text()
    assert main(["report", str(tmp_path)]) == 2
    assert "There is no run in" in capsys.readouterr().err
    assert main(["report", str(run), "--out", str(tmp_path)]) == 2
    assert main(["report", str(run), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert "give the name of a file in a folder that exists" in capsys.readouterr().err


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour: str, ground: str, share: float) -> str:
    pairs = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_contrasts_with_its_ground(scheme: dict[str, str]) -> None:
    for ground in (scheme["surface"], scheme["panel"]):
        assert contrast(scheme["ink"], ground) >= 7
        assert min(contrast(scheme[role], ground) for role in ("muted", "accent", "warn")) >= 4.5
    for role in ("accent", "warn"):
        assert contrast(scheme["ink"], mixed(scheme[role], scheme["surface"], 0.55)) >= 4.5


def test_a_curve_is_where_its_numbers_are() -> None:
    drawing = over_rounds("Loss", "train_loss", [(0, 0.0), (10, 1.0)])
    (line,) = re.findall(
        r'<polyline points="([^"]+)" stroke-linejoin="round" fill="none" stroke="var\(--accent\)"', drawing.inline_svg()
    )
    (x0, y0), (x1, y1) = (map(float, pair.split(",")) for pair in line.split())
    assert x1 > x0
    assert y1 < y0
    assert "from 0.000 to 1.000" in drawing.label


@pytest.mark.parametrize("points", [[], [(1, 0.5)], [(1, 1.0), (2, 1.0)], [(5, -3.0), (900, 1e6)], [(1, 0.0)]])
def test_any_curve_can_be_drawn(points: list[tuple[int, float]]) -> None:
    for key in ("validation_accuracy", "train_loss"):
        drawing = over_rounds("x", key, points, best=1)
        assert "nan" not in drawing.inline_svg()
        assert drawing.png().startswith(b"\x89PNG")


def test_reliability_of_no_sample_says_so() -> None:
    assert "no sample" in reliability("x", MetricSums.zero()).inline_svg()


def test_a_picture_is_the_same_in_both_formats() -> None:
    drawing = Drawing(40, 20, "halves")
    drawing.rect(0, 0, 20, 20, "accent")
    pixels = np.asarray(Image.open(io.BytesIO(drawing.png())).convert("RGB"))
    assert pixels.shape == (40, 80, 3)
    assert "#{:02x}{:02x}{:02x}".format(*pixels[20, 10]) == LIGHT["accent"]
    assert "#{:02x}{:02x}{:02x}".format(*pixels[20, 70]) == LIGHT["surface"]
