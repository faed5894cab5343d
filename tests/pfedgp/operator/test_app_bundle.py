"""The bundle that a run sends to the server."""

import io
import tomllib
import zipfile

import pytest

from pfedgp.operator.app_bundle import build_bundle
from pfedgp_core.config import Settings

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_the_bundle_holds_the_app_and_the_keys_of_a_run_and_is_the_same_for_every_run() -> None:
    defaults = Settings().to_run_config() | {"out": "", "publish": ""}

    content, digest = build_bundle(defaults)

    assert build_bundle(defaults)[1] == digest
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {"server/server_app.py", "client/client_app.py", "pfedgp_core/config.py"} <= set(names)
    assert {name.split("/")[0] for name in names if "/" in name} <= {"client", "server", "pfedgp_core", ".info"}
    project = tomllib.loads(zipfile.ZipFile(io.BytesIO(content)).read("pyproject.toml").decode())
    config = project["tool"]["flwr"]["app"]["config"]
    assert config["rounds"] == Settings().rounds
    assert config["gp"]["sweeps"] == Settings().gp.sweeps
    assert project["tool"]["flwr"]["app"]["publisher"] == project["project"]["name"] == "pfedgp"


def test_a_resumed_run_is_given_no_other_setting() -> None:
    content, _ = build_bundle({"resume": ""})

    project = tomllib.loads(zipfile.ZipFile(io.BytesIO(content)).read("pyproject.toml").decode())
    assert project["tool"]["flwr"]["app"]["config"] == {"resume": ""}
