"""The method of CONTRIBUTING.md, as a newcomer would drop it in."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from flwr.supercore.task_identity import TaskIdentity

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.base import Method, Upload
from pfedgp_core.methods.make import make_method
from server.unused_settings import unused_settings
from tests.federation_run import SMALL, federate

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


@pytest.mark.slow
def test_it_runs_with_its_setting(damped: Method, tmp_path: Path) -> None:
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    settings = SMALL.replace(rounds=1, evaluate_every=1, method="damped:Damped", own=damped.settings.own)
    assert settings.to_run_config()["damped.rate"] == 0.25
    run = federate(settings, tmp_path / "run")
    assert run.summary["best_round"] == 1
    assert unused_settings(settings, damped) == []


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("damped_elsewhere:Damped", None, "Python finds no module damped_elsewhere: .* PYTHONPATH"),
        ("damped_lacks:Damped", "import no_such_package", "cannot be imported .*no_such_package"),
        ("damped_broken:Damped", "class Damped(", "cannot be imported .SyntaxError"),
        ("damped_quits:Damped", "raise SystemExit(0)", "cannot be imported .SystemExit"),
        ("no_such_package.damped:Damped", None, "Python finds no module no_such_package: "),
        ("damped_empty:Damped", "", "the module damped_empty has no Damped: correct the name"),
        ("damped_other:Damped", "Damped = 1", "is no method"),
    ],
)
def test_a_file_that_gives_no_method_is_told(
    path: str, code: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    if code is not None:
        (tmp_path / f"{path.partition(':')[0]}.py").write_text(code)
    with pytest.raises(ConfigError, match=said):
        make_method(Settings(method=path), (1, 8, 8), 10)


def test_the_command_of_the_text_names_it() -> None:
    assert "--method damped:Damped" in SECTION


def test_the_block_is_short() -> None:
    assert len(SECTION.partition("```python\n")[2].partition("```")[0].splitlines()) <= 20
