"""A server names code: a site with data of its own imports none of it unless its operator said so."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client.foreign_code import ALLOWED, refuse_code_of_server, with_own_root
from client.method import site_method
from client.published import onboard_node
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.names import MODEL, MODEL_HASH
from pfedgp_core.wire.publication import description_hash, publication, published_model
from tests.federation_run import SMALL

MODULE = "pfedgp_foreign_code_of_a_test"
METHOD, NETWORK = f"{MODULE}:Method", f"{MODULE}:network"
SITE = {"data-path": "/data/ward-3", "client-name": "ward-3"}


@pytest.fixture(autouse=True)
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that would be found, and must not be."""
    (tmp_path / f"{MODULE}.py").write_text("raise SystemExit('code of the server runs here')\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize("changes", [{"method": METHOD}, {"network": NETWORK}, {"network": "os:system"}])
def test_a_site_imports_nothing(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="is code that is not a part of pFedGP: if you trust it"):
        site_method(SMALL.replace(**changes), None, SITE)  # type: ignore[arg-type]
    assert MODULE not in sys.modules


@pytest.mark.parametrize(("kind", "path"), [("method", METHOD), ("network", NETWORK)])
def test_the_operator_may_allow_it(kind: str, path: str) -> None:
    settings = SMALL.replace(**{kind: path})
    refuse_code_of_server(settings, SITE | {ALLOWED: f"a:b, {path}"})
    with pytest.raises(ConfigError, match=f"--allow-{kind} {path}"):
        refuse_code_of_server(settings, SITE | {ALLOWED: f"{path}x"})


def test_a_part_of_a_simulation_is_its_callers_own() -> None:
    part = {"partition-id": 0, "num-partitions": 5}
    settings = SMALL.replace(method=METHOD, data_root="/data")
    refuse_code_of_server(settings, part)
    assert with_own_root(settings, part).data_root == "/data"


def test_a_part_of_a_simulation_that_a_site_serves_takes_neither_code_nor_folders_of_a_server() -> None:
    part = {"partition-id": 0, "num-partitions": 5, ALLOWED: ""}
    with pytest.raises(ConfigError, match="--allow-method"):
        refuse_code_of_server(SMALL.replace(method=METHOD), part)
    settings = SMALL.replace(data_root="/etc")
    assert with_own_root(settings, part).data_root == ""
    assert with_own_root(settings, part | {"data-root": "/data"}).data_root == "/data"


def test_a_published_model_brings_no_code(tmp_path: Path) -> None:
    settings = SMALL.replace(network=NETWORK)
    model = TrainedModel(np.zeros(3, np.float32), settings, ("0", "1"), (1, 8, 8), np.zeros(1), np.ones(1))
    received = published_model(publication(model), model.vector)  # as it arrives, before the node is asked
    with pytest.raises(ConfigError, match="start this site with --allow-network"):
        onboard_node(received, SITE | {"state": str(tmp_path / "state")})
    assert MODULE not in sys.modules
    assert not (tmp_path / "state").exists()


def test_a_published_model_names_no_data_set_to_read() -> None:
    model = TrainedModel(np.zeros(3, np.float32), SMALL, ("0", "1"), (1, 8, 8), np.zeros(1), np.ones(1))
    about = json.loads(publication(model)[MODEL])
    about["normalisation"] = None
    text = json.dumps(about)
    with pytest.raises(DataError, match="lacks its normalisation"):
        published_model({MODEL: text, MODEL_HASH: description_hash(text, model.vector)}, model.vector)
