"""A written run and its page, made once for each file of tests."""

from pathlib import Path

import pytest

from server.report.html.writer import write_report
from tests.server.report.html.written_run import Page, classification_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = classification_run(tmp_path_factory.mktemp("report") / "first & last")
    write_report(path)
    return path


@pytest.fixture(scope="module")
def page(run: Path) -> Page:
    return Page((run / "report.html").read_text(encoding="utf-8"))
