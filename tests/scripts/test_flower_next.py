"""``scripts/flower_next.py``: what it says of a run that works, and of one that does not."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pfedgp_core.errors import RunFailedError

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "scripts"
# A program in the place of a federation: it leaves the summary in its second argument, and ends with its first.
PROGRAM = """
import pathlib, sys
code, summary, _, out = sys.argv[1:]
if summary:
    pathlib.Path(out).mkdir()
    (pathlib.Path(out) / "summary.json").write_text(summary)
sys.exit(code if code.isalpha() else int(code))
"""


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("flower_next")


def said(script: ModuleType, folder: Path, code: str, summary: dict[str, object] | None) -> tuple[bool, str]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    told = "" if summary is None else json.dumps(summary)
    return script.attempt(Path(sys.executable), folder / "out", str(program), code, told)


def test_a_run_that_ended_well_works(script: ModuleType, tmp_path: Path) -> None:
    works, sentence = said(script, tmp_path, "0", {"status": "completed", "accuracy": 0.9861, "rounds": 10})
    assert (works, sentence.split(", in ")[0]) == (True, "works: accuracy 98.6% after 10 rounds")


def test_a_run_that_failed_says_its_reason(script: ModuleType, tmp_path: Path) -> None:
    told = {"status": "failed", "reason": "No client answered."}
    assert said(script, tmp_path, "1", told) == (False, "does not work (exit code 1): No client answered.")


def test_a_run_that_left_no_summary_says_its_last_line(script: ModuleType, tmp_path: Path) -> None:
    assert said(script, tmp_path, "broken", None) == (False, "does not work (exit code 1): broken")


def test_a_run_that_does_not_end_does_not_work(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "SECONDS", 0.01)
    assert said(script, tmp_path, "0", None) == (False, "does not work: it did not end within 0.01 s")


@pytest.fixture(scope="module")
def python(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment, which takes some seconds to make."""
    return script.environment(tmp_path_factory.mktemp("environment"))


def test_the_environment_sees_its_own_packages_first(script: ModuleType, python: Path) -> None:
    own = python.parents[1] / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (own / "jinja2.py").write_text("__version__ = 'its own'")
    assert script.run([str(python), "-c", "import jinja2; print(jinja2.__version__)"]).stdout == "its own\n"


def test_the_environment_takes_all_else_from_here(script: ModuleType, python: Path) -> None:
    assert script.run([str(python), "-c", "import pfedgp_core, numpy; print('both')"]).stdout == "both\n"


def test_the_deployment_is_of_flowers_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script, used = load("flower_next_deployment"), dict[str, object]()
    monkeypatch.setattr(script, "deploy_local", lambda settings, out, show, **options: used.update(options))
    monkeypatch.setattr(sys, "argv", ["", "--out", str(tmp_path)])
    script.main()
    assert used == {"processes": script.HttpFlower}


def test_the_deployment_says_why_it_does_not_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("flower_next_deployment")

    def fails(*_: object, **__: object) -> None:
        raise RunFailedError("No site came.")

    monkeypatch.setattr(script, "deploy_local", fails)
    monkeypatch.setattr(sys, "argv", ["", "--out", str(tmp_path)])
    script.main()
    assert capsys.readouterr().err == "No site came.\n"
