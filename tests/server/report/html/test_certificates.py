"""Certificates of the sites in a run's report."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from server.report.html.writer import write_report
from server.run.artefacts import RunFolder
from tests.server.report.html.written_run import EVIL, Page

pytestmark = pytest.mark.slow


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
    assert {"Certificates", "4; 6", "52.21 %", "a < b; c"} <= set(words)
    assert words.count("pac-bayes") == 1
    assert "groups" not in words
    grouped = certificate | {"counts": "groups", "vote": {"empirical": None, "bound": 0.41}}
    file.write_text(json.dumps(grouped))
    assert main(["report", str(copy), "--certificate", str(file)]) == 0
    assert {"groups", "41.00 %"} <= set(Page((copy / "report.html").read_text()).words)
    (copy / "certificates.json").write_text(json.dumps([certificate]))

    other.write_text(json.dumps(certificate | {"model_sha256": "ab"}))
    for wrong, text in ((other, "about the model ab"), (tmp_path, "it is a folder"), (copy / "config.toml", "is no")):
        capsys.readouterr()
        assert main(["report", str(copy), "--certificate", str(wrong)]) == 2
        assert text in capsys.readouterr().err
    assert json.loads((copy / "certificates.json").read_text()) == [certificate]
