"""A working folder that holds a client.py or server.py, as Flower apps do, does not take the place of our packages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pfedgp.processes.own_packages import PACKAGES, ROOT

WHERE = "import pfedgp, client, server, pfedgp_core; print(client.__file__, server.__file__, pfedgp_core.__file__)"


def app_folder(folder: Path, packages: bool) -> Path:
    """A folder like that of another Flower app, whose files say when they are run."""
    for name in PACKAGES:
        path = folder / name / "__init__.py" if packages else folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('the file of the user ran')\n")
    return folder


def python(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("packages", [False, True], ids=["files", "packages"])
def test_the_module_runs_ours(tmp_path: Path, packages: bool) -> None:
    done = python(app_folder(tmp_path, packages), "-m", "pfedgp", "simulate", "--rounds", "none")
    assert "the file of the user" not in done.stderr
    assert done.stderr == "pfedgp: rounds = 'none' is not an integer; give for example rounds=60.\n"


def test_a_python_path_with_the_working_folder_changes_nothing(tmp_path: Path) -> None:
    done = python(app_folder(tmp_path, False), "-P", "-c", WHERE, PYTHONPATH=".")
    assert done.stdout.split() == [str(ROOT / name / "__init__.py") for name in ("client", "server", "pfedgp_core")]


def test_the_working_folder_stays_on_the_path(tmp_path: Path) -> None:
    (app_folder(tmp_path, False) / "damped.py").write_text("print('found')\n")
    assert python(tmp_path, "-c", "import pfedgp, damped").stdout == "found\n"


def test_without_another_package_the_path_is_as_it_was(tmp_path: Path) -> None:
    code = "import sys; before = list(sys.path); import pfedgp; print(sys.path == before)"
    assert python(tmp_path, "-c", code).stdout == "True\n"


def test_another_package_that_was_imported_before_is_named(tmp_path: Path) -> None:
    (tmp_path / "client.py").touch()
    code = "import client, pfedgp.cli; raise SystemExit(pfedgp.cli.main(['settings']))"
    done = python(tmp_path, "-c", code)
    assert done.returncode == 2
    assert str(tmp_path / "client.py") in done.stderr
