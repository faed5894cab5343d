"""A small run as the server leaves it, and a strict reader of the page that is made of it."""

import csv
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
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
        "model_temperature": 0.54,
        "temperature_rule": "validation data of 3 clients",
        "at_model_temperature": pooled.to_dict(),
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
    summary |= {"temperature": 0.1, "model_temperature": 0.54, "nll_at_model_temperature": 0.4321}
    (path / "summary.json").write_text(json.dumps(summary))
    return path
