"""In a deployment a round's checkpoint is written while the clients work on the next round."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from flwr.app import Message

from client.client_app import app as client_app
from pfedgp_core.errors import PFedGPError
from pfedgp_core.wire.names import CONFIG, ROUND, TRAIN
from server.run.checkpoint import CHECKPOINTS, checkpoint_name, newest_checkpoint
from tests.fakegrid import FakeGrid
from tests.federation_run import resume, start
from tests.uninterrupted import SETTINGS, without_pictures

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)


class Watching(FakeGrid):
    """Notes for each round whether the checkpoint before it was there when it was asked for, and at the first look."""

    def __init__(self, clients: int, out: Path, deployed: bool = True) -> None:
        super().__init__(client_app, clients, deployed=deployed)
        self.out = out
        self.seen: dict[int, list[bool]] = {}
        self._asked = 0

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        listed = list(messages)
        if listed[0].metadata.message_type == TRAIN:
            self._asked = int(listed[0].content.config_records[CONFIG][ROUND])  # type: ignore[call-overload]
            self._look()
        return super().push_messages(listed)

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        if self._asked and len(self.seen[self._asked]) == 1:
            self._look()
        return super().pull_messages(message_ids)

    def _look(self) -> None:
        there = (self.out / CHECKPOINTS / checkpoint_name(self._asked - 1)).exists()
        self.seen.setdefault(self._asked, []).append(there)


def test_the_checkpoint_is_written_once_the_next_requests_are_out(tmp_path: Path) -> None:
    grid = Watching(SETTINGS.clients, tmp_path / "run")
    start(grid, SETTINGS, tmp_path / "run")
    first, *others = (grid.seen[t] for t in sorted(grid.seen))
    assert first == [True, True]  # what there is before round 1 is no round's work
    assert others == [[False, True]] * (SETTINGS.rounds - 1)
    assert newest_checkpoint(tmp_path / "run").round == SETTINGS.rounds  # type: ignore[union-attr]


def test_a_simulation_and_a_method_whose_clients_keep_states_wait_for_it(tmp_path: Path) -> None:
    """Such clients drop what an older checkpoint would need."""
    for name, settings, deployed in (("a", SETTINGS, False), ("b", SETTINGS.replace(method="fedper"), True)):
        grid = Watching(SETTINGS.clients, tmp_path / name, deployed)
        start(grid, settings, tmp_path / name)
        assert set(map(tuple, grid.seen.values())) == {(True, True)}


def test_a_run_that_fails_in_the_next_round_has_it(tmp_path: Path) -> None:
    class Failing(Watching):
        def push_messages(self, messages: Iterable[Message]) -> list[str]:
            sent = super().push_messages(messages)
            if self._asked == 3:
                raise PFedGPError("the SuperLink is gone")
            return sent

    out = tmp_path / "run"
    grid = Failing(SETTINGS.clients, out)
    with pytest.raises(PFedGPError, match="Go on after round 2 with"):
        start(grid, SETTINGS, out)
    assert grid.seen[3] == [False]
    assert newest_checkpoint(out).round == 2  # type: ignore[union-attr]
    uninterrupted = start(Watching(SETTINGS.clients, tmp_path / "whole"), SETTINGS, tmp_path / "whole")
    assert resume(out, deployed=True).model("final").tobytes() == uninterrupted.model("final").tobytes()
