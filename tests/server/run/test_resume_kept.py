"""FedPer killed at any moment resumes to the bits of a run that was not: personal layers follow the server's memory."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import server.recorder
from client.state import KEPT_FOLDER
from pfedgp_core.wire.names import EVALUATE, TRAIN
from tests.federation_run import Run, federate, resume
from tests.killed import at_call, at_message, dies_at_file, killed
from tests.uninterrupted import SETTINGS, same, uninterrupted, without_pictures

pytestmark = pytest.mark.slow

FEDPER = SETTINGS.replace(method="fedper", local_steps=3, clients_per_round=3)
PHASES: dict[str, Any] = {
    "training in round 1": lambda: at_message(TRAIN, 1),
    "training": lambda: at_message(TRAIN, 3),
    "between rounds, before the checkpoint": lambda: at_call(server.recorder, "write_checkpoint", 3),
    "between rounds, after the checkpoint": lambda: dies_at_file("round-000003.safetensors", "replace", after=True),
    "validation": lambda: at_message(EVALUATE, 2),
    "final test": lambda: at_message(EVALUATE, 4),
    # The client dies: its new state is written half, or whole and its reply is not sent.
    "state of a client half written": lambda: dies_at_file("3.state", "to-disk"),
    "state of a client just written": lambda: dies_at_file("3.state", "replace", after=True),
}


def states(folder: Path) -> dict[str, bytes]:
    """All kept states by client and round, whatever the run."""
    return {"/".join(file.parts[-2:]): file.read_bytes() for file in folder.rglob("*.state")}


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The states that a run leaves which nobody killed."""
    without_pictures(monkeypatch)
    monkeypatch.setenv(KEPT_FOLDER, str(tmp_path / "whole"))
    federate(FEDPER, tmp_path / "run-whole", deployed=True)
    return tmp_path / "whole"


@pytest.mark.parametrize("phase", PHASES)
def test_a_killed_run_goes_on_to_the_same_end(
    phase: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEPT_FOLDER, str(tmp_path / "kept"))
    out, how = tmp_path / "run", PHASES[phase]()
    tamper = None if hasattr(how, "__enter__") else how
    with nullcontext() if tamper else how:
        killed(lambda: federate(FEDPER, out, tamper, deployed=True))
    run = resume(out, deployed=True)
    assert same(run, Run(tmp_path / "run-whole"))
    assert states(tmp_path / "kept") == states(whole)


def test_the_engine_of_the_simulation_gives_the_same(whole: Path, tmp_path: Path) -> None:
    assert Run(tmp_path / "run-whole").model("best").tobytes() == uninterrupted(FEDPER, False).model("best").tobytes()
