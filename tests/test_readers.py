"""Files of others are read in one place: nothing else in the product calls a decoder by itself."""

import ast
from pathlib import Path

import pytest

from tests.test_imports import ROOT

DECODERS = {"json.load", "json.loads", "tomllib.load", "tomllib.loads", "np.load", "Image.open", "safe_open"}
DECODERS |= {
    "x509.load_pem_x509_certificate",
    "serialization.load_pem_private_key",
    "pickle.load",
    "torch.load",
    "torch.jit.load",
}
DECODERS |= {"serialization.load_ssh_public_key", "serialization.load_ssh_private_key", "zipfile.ZipFile"}
READERS = "pfedgp_core/files/"
OWN = {  # what its own processes tell each other, what it has just written, and words of a command
    "pfedgp_core/column_rules.py": {"json.loads"},  # a setting
    "pfedgp_core/config_text.py": {"tomllib.loads"},
    "pfedgp_core/data/array_cache.py": {"np.load"},
    "pfedgp_core/data/corruptions/digital.py": {"Image.open"},  # the JPEG that it has just made
    "pfedgp/site/plan.py": {"json.loads"},
    "pfedgp/site/preflight.py": {"json.loads"},
    "pfedgp/site/supernode_process.py": {"json.loads"},
    "server/run/model_file.py": {"json.loads"},
}


def calls(file: Path) -> set[str]:
    found = (node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    return {ast.unparse(name) for name in found} & DECODERS


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pfedgp_core", "client", "server", "pfedgp"])
def test_decoders_are_called_by_the_readers_alone(package: str) -> None:
    names = {file.relative_to(ROOT).as_posix(): calls(file) for file in sorted((ROOT / package).rglob("*.py"))}
    others = {name: found - OWN.get(name, set()) for name, found in names.items() if not name.startswith(READERS)}
    assert {name: found for name, found in others.items() if found} == {}


def test_the_list_of_exceptions_is_true() -> None:
    assert {name: calls(ROOT / name) for name in OWN} == OWN
