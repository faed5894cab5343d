"""The method of CONTRIBUTING.md, as a newcomer would drop it in."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.methods.base import Method, Upload
from pfedgp_core.methods.make import make_method

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = TEXT.partition("## Add a method")[2].partition("\n## ")[0]


@pytest.fixture
def damped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Method]:
    """The method under its own setting, from a file in a folder on Python's path."""
    block = re.findall(r"^```python\n# (\S+)\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / block[0]).write_text(block[1], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings.from_run_config({"method": "damped:Damped", "damped.rate": 0.25, "feature-dim": 8})
    yield make_method(settings, (1, 8, 8), 10)
    sys.modules.pop("damped", None)


def test_it_goes_a_part_of_the_way(damped: Method) -> None:
    state = np.zeros(3, dtype=np.float32)
    uploads = [Upload(name, np.full(3, value, dtype=np.float32), state, 5) for name, value in (("a", 2.0), ("b", 6.0))]
    np.testing.assert_array_equal(damped.step(state, uploads), np.full(3, 1.0, dtype=np.float32))


def test_the_command_of_the_text_names_it() -> None:
    assert "--method damped:Damped" in SECTION


def test_the_block_is_short() -> None:
    assert len(SECTION.partition("```python\n")[2].partition("```")[0].splitlines()) <= 20
