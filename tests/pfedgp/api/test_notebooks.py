"""The notebooks run from top to bottom in an empty folder, and are kept without what they printed."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS == ["classifier.ipynb", "simulate.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_kept_without_outputs(name: str) -> None:
    cells = json.loads((FOLDER / name).read_text(encoding="utf-8"))["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []


def printed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All that the cells of a notebook print; an error in one of them is raised."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(folder / variable.lower()))
    book: Any = nbformat.read(FOLDER / name, as_version=4)
    nbclient.NotebookClient(book, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    return "".join(output.get("text", "") for output in outputs)


@pytest.mark.slow
def test_a_federation_and_its_newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("simulate.ipynb", tmp_path, monkeypatch)
    assert "worst client: client-" in text
    known, foreign = (float(word) for word in text.split("uncertainty:")[1].split() if word[0].isdigit())
    assert foreign > known
    assert (tmp_path / "runs" / "digits" / "report.html").exists()


@pytest.mark.slow
def test_the_classifier_in_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("classifier.ipynb", tmp_path, monkeypatch)
    assert float(text.split("accuracy ")[2].split(",")[0]) > 0.9
