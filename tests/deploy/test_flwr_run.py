"""``flwr run .`` as docs/simulate.md shows it: it works in a checkout, and installs nothing."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.conftest import QUIET

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).resolve().parents[2]
DOC = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
DOCUMENTED = re.findall(r"^.*\bflwr run \. .*$", DOC, re.MULTILINE)[0]
SWITCH = "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION"
# Flower installs with "python -m uv": in place of that, a program that leaves a trace and refuses.
UV = 'import sys\nif "sync" in sys.argv:\n    open({called!r}, "w").close()\n    sys.exit("no installation here")\n'


@contextmanager
def ended(home: Path) -> Iterator[None]:
    """Ends what Flower has started for itself, which would outlive its command."""
    try:
        yield
    finally:
        for process in psutil.process_iter(["cmdline"]):
            if any(str(home) in word for word in process.info["cmdline"] or ()):
                for each in [*process.children(recursive=True), process]:
                    each.kill()


def installs(folder: Path, command: str) -> bool:
    """Whether the command, given in a checkout, installs packages; where it does not, the run is complete."""
    app, home, called = folder / "app", folder / "flwr", folder / "called"
    for name in ("client", "server", "pfedgp_core"):
        shutil.copytree(ROOT / name, app / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, app)
    (folder / "stub" / "uv").mkdir(parents=True)
    (folder / "stub" / "uv" / "__init__.py").touch()
    (folder / "stub" / "uv" / "__main__.py").write_text(UV.format(called=str(called)))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | QUIET | {"PYTHONPATH": str(folder / "stub"), "FLWR_HOME": str(home), "PATH": path}
    environment.pop(SWITCH, None)
    out = folder / "run"
    words = command.replace("--run-config '", f'--run-config \'out="{out}" ')
    with ended(home):
        done = subprocess.run(
            ["sh", "-c", words], cwd=app, env=environment, capture_output=True, text=True, timeout=180.0, check=False
        )
        if not called.exists():
            told = done.stdout[-3000:] + done.stderr[-3000:]
            assert json.loads((out / "summary.json").read_text())["status"] == "completed", told
    return called.exists()


def test_the_documented_command_installs_nothing(tmp_path: Path) -> None:
    assert not installs(tmp_path, DOCUMENTED)


def test_without_its_variable_flower_would_install(tmp_path: Path) -> None:
    assert installs(tmp_path, DOCUMENTED.replace(f"{SWITCH}=1 ", ""))
