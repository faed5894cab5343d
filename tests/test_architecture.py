"""docs/architecture.md lists every module of its packages with the first line of the module's docstring."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTIONS = dict(
    re.findall(r"^## `([\w/]+)`\n(.*?)(?=^## |\Z)", (ROOT / "docs/architecture.md").read_text(), re.M | re.S)
)
PACKAGES = [name for name in SECTIONS if (ROOT / name / "__init__.py").is_file()]


def first_lines(package: str) -> dict[str, str]:
    modules = [path for path in (ROOT / package).glob("*.py") if path.stem != "__init__"]
    return {path.name: (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0] for path in modules}


def test_the_document_has_the_packages_that_it_is_about() -> None:
    assert {"pfedgp_core", "client", "server", "pfedgp/site", "pfedgp/operator"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_listed_with_what_it_is_about(package: str) -> None:
    listed = dict(re.findall(r"^\* `([\w.]+)`: (.+)$", SECTIONS[package], re.M))
    assert {name: line for name, line in listed.items() if name.endswith(".py")} == first_lines(package)
