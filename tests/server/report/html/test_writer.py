"""Writing the report: the page by the command, and its figures as files."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp.cli import main


@pytest.mark.slow
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
