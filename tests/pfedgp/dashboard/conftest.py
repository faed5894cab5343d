"""A server that is made up, for every test of the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import open_browser
from tests.pfedgp.dashboard.made_state import MadeServer


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeServer]:
    made = MadeServer(tmp_path, monkeypatch)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with open_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver
