"""What is installed and what travels: pyproject mirrors the settings, the FAB is lean, imports stay light."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pfedgp import __version__
from pfedgp_core.config import Settings
from pfedgp_core.config_text import describe

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads(PYPROJECT)
CONFIG: dict[str, Any] = PROJECT["tool"]["flwr"]["app"]["config"]


def test_version_is_one() -> None:
    assert PROJECT["project"]["version"] == __version__
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_flower_is_pinned_as_the_app_targets() -> None:
    target = PROJECT["tool"]["flwr"]["app"]["flwr-version-target"]
    (flower,) = [d for d in PROJECT["project"]["dependencies"] if d.startswith("flwr")]
    assert flower == f"flwr[simulation]>={target},<1.40"


@pytest.mark.parametrize(("key", "default", "text"), describe(), ids=lambda row: str(row)[:20])
def test_pyproject_holds_each_setting(key: str, default: object, text: str) -> None:
    *groups, name = key.split(".")
    table = CONFIG
    for group in groups:
        table = table[group]
    assert table[name] == default
    assert type(table[name]) is type(default)
    body = PYPROJECT.partition("[" + ".".join(["tool.flwr.app.config", *groups]) + "]\n")[2].partition("\n[")[0]
    assert re.search(rf"^{name} = .* # {re.escape(text)}$", body, re.MULTILINE), f"the comment of {key} is: {text}"


def test_pyproject_holds_no_other_key() -> None:
    flat = {k: v for k, v in CONFIG.items() if not isinstance(v, dict)}
    nested = {f"{group}.{k}" for group, table in CONFIG.items() if isinstance(table, dict) for k in table}
    assert flat.keys() | nested == Settings().to_run_config().keys() | {
        "out",
        "tensorboard",
        "prometheus",
        "mlflow",
        "wandb",
        "publish",
        "resume",
    }
    outputs = ("out", "tensorboard", "prometheus", "mlflow", "wandb", "publish", "resume")
    assert [CONFIG[key] for key in outputs] == [""] * len(outputs)


def test_all_packages_are_installed() -> None:
    from setuptools import find_packages

    listed = find_packages(str(ROOT), include=PROJECT["tool"]["setuptools"]["packages"]["find"]["include"])
    holding_code = {
        ".".join(path.relative_to(ROOT).parent.parts)
        for package in ("client", "pfedgp", "pfedgp_core", "server")
        for path in (ROOT / package).rglob("*.py")
    }
    assert set(listed) == holding_code


@pytest.mark.slow
def test_fab_holds_the_app_and_nothing_else(tmp_path: Path) -> None:
    app = tmp_path / "pfedgp"
    app.mkdir()
    for name in ("client", "server", "pfedgp_core", "pfedgp", "tests", "docs"):
        shutil.copytree(ROOT / name, app / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, app)
    flwr = Path(sys.executable).with_name("flwr")
    built = subprocess.run([flwr, "build", "--app", app], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (fab,) = tmp_path.glob("pfedgp.pfedgp.*.fab")
    with zipfile.ZipFile(fab) as archive:
        names = set(archive.namelist())
    code = {str(p.relative_to(app)) for top in ("client", "server", "pfedgp_core") for p in (app / top).rglob("*.py")}
    assert code <= names, f"Flower leaves out: {code - names}"
    assert names - code == {"pyproject.toml", "LICENSE", ".info/CONTENT"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import pfedgp_core", {"flwr", "torch", "torchvision", "matplotlib"}),
        (
            "import pfedgp_core.config, pfedgp_core.methods.update, pfedgp_core.tree.classifier",
            {"flwr", "torchvision", "matplotlib"},
        ),
        ("import server.server_app", {"torchvision", "matplotlib", "ray"}),
        ("import client.client_app", {"matplotlib", "ray"}),
    ],
)
def test_imports_stay_light(statement: str, heavy: set[str]) -> None:
    code = f"{statement}; import sys; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_the_core_never_names_the_layers_above() -> None:
    pattern = re.compile(r"^\s*(?:from|import) (?:flwr|client|server|pfedgp)\b", re.MULTILINE)
    found = [
        path.name for path in (ROOT / "pfedgp_core").rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []
