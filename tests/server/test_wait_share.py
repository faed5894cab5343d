"""``wait-share``: a round that does not wait for its slowest clients, and what comes of their late updates."""

from collections.abc import Collection
from pathlib import Path

import pytest
from flwr.app import Message

from client.client_app import app as client_app
from pfedgp_core.config import Settings
from pfedgp_core.wire.names import CONFIG, TRAIN
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, Run, federate, start
from tests.uninterrupted import MODES, without_pictures

pytestmark = pytest.mark.slow

# Every free client is in every round. One that waits for client 3 in vain is over after 20 s, and then the client is
# among the failed ones.
FOUR_OF_FIVE = SMALL.replace(clients_per_round=5, rounds=4, evaluate_every=4, wait_share=0.8, round_timeout=20.0)
SLOW = 3
NAME = "client-03"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


class SlowGrid(FakeGrid):
    """A grid on which updates of client 3 come so many requests to other clients late, or never.

    Parameters
    ----------
    slow : collection of int
        Which of its updates, counted from 1.
    after : int or None
        Requests to other clients until one of them arrives; None: it never does.
    """

    def __init__(
        self, settings: Settings, slow: Collection[int] = (1,), after: int | None = None, deployed: bool = False
    ) -> None:
        super().__init__(client_app, settings.clients, self._hold, deployed=deployed)
        self._slow, self._after, self._updates = slow, after, 0
        self._held: list[tuple[int, str, Message]] = []

    def _hold(self, request: Message, index: int, reply: Message) -> Message | None:
        for due, asked, held in [entry for entry in self._held if entry[0] <= len(self.sent)]:
            self._replies[asked] = held
            self._held.remove((due, asked, held))
        if request.metadata.message_type != TRAIN or index != SLOW:
            return reply
        self._updates += 1
        if self._updates not in self._slow:
            return reply
        if self._after is not None:
            self._held.append((len(self.sent) + self._after, request.metadata.message_id, reply))
        return None


def run(grid: FakeGrid, out: Path, settings: Settings = FOUR_OF_FIVE) -> Run:
    return start(grid, settings, out)


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_client_that_never_answers_holds_no_round(deployed: bool, tmp_path: Path) -> None:
    records = run(SlowGrid(FOUR_OF_FIVE, deployed=deployed), tmp_path / "run").records
    assert [record["failed"] for record in records] == [{}] * 4
    assert [record["late"] for record in records] == [[NAME], [], [], []]
    assert [record["ok"] for record in records] == [4] * 4


def test_a_client_with_an_open_request_is_not_drawn(tmp_path: Path) -> None:
    records = run(SlowGrid(FOUR_OF_FIVE), tmp_path / "run").records
    assert [NAME in record["sampled"] for record in records] == [True, False, False, False]


def test_a_late_update_is_counted_and_changes_nothing(tmp_path: Path) -> None:
    never = run(SlowGrid(FOUR_OF_FIVE), tmp_path / "never")
    # It comes in round 4, so that the client is drawn in no other round than without it.
    late = run(SlowGrid(FOUR_OF_FIVE, after=11), tmp_path / "late")
    assert [record["late_updates"] for record in late.records] == [0, 0, 0, 1]
    assert late.model("final").tobytes() == never.model("final").tobytes()


def test_a_client_whose_late_update_has_come_is_drawn_again(tmp_path: Path) -> None:
    records = run(SlowGrid(FOUR_OF_FIVE, after=2), tmp_path / "run").records
    assert [NAME in record["sampled"] for record in records] == [True, False, True, True]
    assert [record["ok"] for record in records] == [4, 4, 5, 5]


def test_the_summary_says_who_was_late(tmp_path: Path) -> None:
    summary = run(SlowGrid(FOUR_OF_FIVE, slow=(1, 2), after=2), tmp_path / "run").summary
    assert (summary["late"], summary["late_updates"]) == ({NAME: 2}, 2)


def test_an_evaluation_waits_for_all(tmp_path: Path) -> None:
    settings = FOUR_OF_FIVE.replace(evaluate_every=1, rounds=3)
    records = run(SlowGrid(settings, deployed=True), tmp_path / "run", settings).records
    assert [record["evaluated"] for record in records] == [5] * 3


def test_a_round_that_an_evaluation_rides_in_waits_for_all_who_evaluate(tmp_path: Path) -> None:
    settings = FOUR_OF_FIVE.replace(evaluate_every=1, rounds=3, round_timeout=2.0)
    records = run(SlowGrid(settings, slow=(2,), deployed=True), tmp_path / "run", settings).records
    assert [record["late"] for record in records] == [[]] * 3
    assert records[1]["failed"] == {NAME: "no reply within 2 s"}


def test_no_round_closes_with_fewer_updates_than_it_needs(tmp_path: Path) -> None:
    """One of five asked would be enough, but two must be usable, and of four answers three are errors."""

    def lose(request: Message, index: int, reply: Message) -> Message | None:
        if request.metadata.message_type != TRAIN or index == 4:
            return reply
        if index == SLOW:
            return None
        del reply.content[CONFIG]
        return reply

    settings = FOUR_OF_FIVE.replace(wait_share=0.2, min_results=2, rounds=1, evaluate_every=1, round_timeout=2.0)
    (record,) = federate(settings.replace(max_failed_rounds=5), tmp_path / "run", lose).records
    assert (record["ok"], record["late"]) == (1, [])
    assert record["failed"][NAME].startswith("no reply within")
