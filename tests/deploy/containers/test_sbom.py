"""What the image is said to hold, docs/containers.md: every Python package in it, with its version."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.deploy.containers.compose import MARKS, ROOT, docker

pytestmark = MARKS
LIST = "[(each.metadata['Name'], each.version) for each in distributions()]"
INSTALLED = f"import json; from importlib.metadata import distributions; print(json.dumps({LIST}))"


def normal(name: str) -> str:
    """The form in which names of packages are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def built(folder: Path) -> bytes:
    """The file, made with what compose hands to the build of the image."""
    wheels = os.environ.get("WHEELS") or os.environ.get("PIP_FIND_LINKS") or str(ROOT / "docker/wheels")
    secrets = {"pipconf": os.environ.get("PIP_CONFIG_FILE"), "ca": os.environ.get("PIP_CERT")}
    docker(
        *("build", "-f", str(ROOT / "docker/Dockerfile"), "--target", "sbom", "--output", str(folder)),
        *("--build-context", f"wheels={wheels}"),
        *(word for name, file in secrets.items() for word in ("--secret", f"id={name},src={file or '/dev/null'}")),
        str(ROOT),
    )
    return (folder / "pfedgp.cdx.json").read_bytes()


@pytest.fixture(scope="module")
def sbom(image: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """After the image, whose layers it shares."""
    assert image
    return built(tmp_path_factory.mktemp("sbom"))


def test_every_package_of_the_image_is_in_it_with_its_version_and_none_else(image: str, sbom: bytes) -> None:
    told = json.loads(sbom)
    found = docker("run", "--rm", "--entrypoint", "python", image, "-c", INSTALLED)
    installed = {(normal(name), version) for name, version in json.loads(found)}
    listed = [(normal(one["name"]), one["version"]) for one in told["components"]]
    print(f"{len(listed)} packages, {len(sbom)} bytes")
    assert {"pfedgp", "torch", "flwr", "numpy"} <= {name for name, _ in installed}
    assert set(listed) == installed
    assert len(set(listed)) == len(listed)


def test_it_is_cyclonedx_that_a_scanner_can_use(sbom: bytes) -> None:
    told = json.loads(sbom)
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    nowhere = {one["name"] for one in told["components"] if not one.get("purl", "").startswith("pkg:pypi/")}
    assert nowhere == {"pfedgp"}  # which no index has
    known = {one["bom-ref"] for one in told["components"]}
    for entry in told["dependencies"]:
        assert set(entry.get("dependsOn", ())) <= known


def test_the_same_image_gives_the_same_file_and_nothing_of_this_machine(sbom: bytes, tmp_path: Path) -> None:
    assert built(tmp_path) == sbom
    told = sbom.decode()
    for name, value in os.environ.items():
        if name.startswith(("PIP_", "SSL_", "UV_")) and len(value) > 3:
            assert value not in told, f"the file tells {name} of this machine"
    assert str(ROOT) not in told
