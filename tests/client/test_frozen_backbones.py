"""A federation on a frozen backbone: a site runs no file that its operator did not name."""

from pathlib import Path

import numpy as np
import pytest

from client.foreign_code import refuse_code_of_server
from client.method import site_method
from pfedgp_core.backbones import VARIABLE, declare_backbones
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.errors import ConfigError
from pfedgp_core.model.frozen import pinned_name
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import METHODS
from tests.backbones import WIDTH, write_backbone
from tests.federation_run import SMALL, federate

SITE = {"data-path": "/data/ward-3", "client-name": "ward-3"}


@pytest.mark.slow
def test_a_run_trains_the_projection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    declare_backbones([f"small={write_backbone(tmp_path / 'small.ts')}"])
    run = federate(SMALL.replace(network=pinned_name("frozen:small", (1, 8, 8)), feature_dim=20), tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert run.model("final").shape == (WIDTH * 20,)
    assert np.isfinite(run.summary["accuracy"])


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in METHODS if name != "pfedgp"])
def test_every_method_takes_one(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    declare_backbones([f"small={write_backbone(tmp_path / 'small.ts')}"])
    settings = SMALL.replace(network=pinned_name("frozen:small", (1, 8, 8)), method=method, rounds=1)
    assert federate(settings, tmp_path / "run").summary["status"] == "completed"


def test_a_server_cannot_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    for name in ("frozen:os", f"frozen:os:7:{'0' * 64}", "frozen:/etc/passwd", "frozen:a=/etc/passwd"):
        settings = SMALL.replace(network=name)
        refuse_code_of_server(settings, SITE)  # it is no code, and leads to nothing here
        with pytest.raises(ConfigError, match=r"are not here|needs the weights|names no frozen backbone"):
            data = simulated_client(SMALL, 0)
            method = site_method(settings, data, SITE)
            method.update(method.initial(), None, data.train, Stream(0, "test"))


def test_a_method_is_code_whatever_it_is_called() -> None:
    with pytest.raises(ConfigError, match="is code that is not a part of pFedGP"):
        refuse_code_of_server(SMALL.replace(method="frozen:os"), SITE)
