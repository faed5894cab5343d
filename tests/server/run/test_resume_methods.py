"""Methods whose server or clients hold more than one network, killed in a round, go on to the same bits."""

from pathlib import Path

import pytest

from client.state import KEPT_FOLDER
from pfedgp_core.wire.names import TRAIN
from tests.federation_run import SMALL, federate, resume
from tests.killed import at_message, killed
from tests.uninterrupted import same, without_pictures

pytestmark = pytest.mark.slow

METHODS = ("ditto", "fedrep", "fedu", "fola", "lda", "lg-fedavg", "pfedhn")
CASES = [*((method, True) for method in METHODS), ("pfedhn", False)]  # on a deployment's grid, and once on the other


@pytest.mark.parametrize(("method", "deployed"), CASES)
def test_a_killed_run_goes_on_to_the_same_bits(
    method: str, deployed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pictures(monkeypatch)
    settings = SMALL.replace(method=method, rounds=3, local_steps=3, clients_per_round=3)
    monkeypatch.setenv(KEPT_FOLDER, str(tmp_path / "kept-whole"))
    whole = federate(settings, tmp_path / "whole", deployed=deployed)
    monkeypatch.setenv(KEPT_FOLDER, str(tmp_path / "kept"))
    killed(lambda: federate(settings, tmp_path / "run", at_message(TRAIN, 2), deployed))
    assert same(resume(tmp_path / "run", deployed=deployed), whole)
