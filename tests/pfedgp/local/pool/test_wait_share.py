"""``wait-share`` in a simulation on the pool's grid: a client that computes for long holds no round."""

import threading
from pathlib import Path

import pytest
from flwr.app import Context, Message, RecordDict
from flwr.supercore.run import Run as FlowerRun

from client.client_app import app as client_app
from pfedgp.local.pool.grid import PoolGrid
from pfedgp_core.wire.names import CONFIG, ROUND, TRAIN
from server.engine import Engine
from server.server_app import serve
from tests.federation_run import SMALL, Run
from tests.pfedgp.local.pool.test_grid import Echo
from tests.uninterrupted import without_pictures

pytestmark = pytest.mark.slow

SLOW = 3


class Apps(Echo):
    """Two workers that run the real app, one at a time; client 3 begins its first update once a round 2 has begun."""

    def __init__(self) -> None:
        super().__init__(workers=2)
        self._second, self._turn = threading.Event(), threading.Lock()

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        trains = message.metadata.message_type == TRAIN
        server_round = int(message.content.config_records[CONFIG][ROUND])  # type: ignore[arg-type]
        if trains and server_round > 1:
            self._second.set()
        if trains and server_round == 1 and context.node_config["partition-id"] == SLOW:
            self._second.wait(60)
        with self._turn:
            return client_app(message, context), context


def test_a_client_that_computes_for_long_holds_no_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_pictures(monkeypatch)
    settings = SMALL.replace(clients_per_round=5, rounds=2, wait_share=0.8, round_timeout=30.0)
    grid = PoolGrid(Apps(), settings.clients, FlowerRun.create_empty(7))
    grid.start(lambda: None)
    config = settings.to_run_config() | {"out": str(tmp_path / "run")}
    serve(grid, Context(7, 1, {}, RecordDict(), dict(config)), Engine("simulation", 3, riding=False))
    records = Run(tmp_path / "run").records
    assert [record["failed"] for record in records] == [{}, {}]
    assert records[0]["late"] == ["client-03"]
    assert "client-03" not in records[1]["sampled"]
