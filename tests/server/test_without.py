"""A run that goes on without a site is the one of a federation that the site never joined."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict

from pfedgp.cli import main
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.wire.names import CONFIG, ROUND, TRAIN
from server.engine import DEPLOYMENT
from server.run import joins
from server.run.checkpoint import CHECKPOINTS, checkpoint_name
from server.run.joins import before_joins, drop_joins_after
from server.run.run_config import read_origin
from server.server_app import serve
from server.without import begin_without
from tests.federation_run import Run, start
from tests.own_sites import OWN, OwnGrid, three_image_sites

pytestmark = pytest.mark.slow

SETTINGS = OWN.replace(min_clients=2, rounds=8, evaluate_every=2, wait_timeout=5.0)
LATE, AFTER = "ward-b", 3


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return three_image_sites(tmp_path_factory.mktemp("sites"))


class LateGrid(OwnGrid):
    """A deployment's grid to which a site comes in a round."""

    def __init__(self, sites: dict[str, Path], late: str | None = None) -> None:
        super().__init__({name: path for name, path in sites.items() if name != LATE}, self._joins)
        self.engine, self._path = DEPLOYMENT, sites[late] if late else None

    def _joins(self, request: Message, _: int, reply: Message) -> Message:
        is_train = request.metadata.message_type == TRAIN
        if self._path and is_train and request.content.config_records[CONFIG][ROUND] == AFTER:
            self.add_site(LATE, self._path)
            self._path = None
        return reply


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the first test makes for all."""
    return {"root": tmp_path_factory.mktemp("joined")}


@pytest.fixture
def run(made: dict[str, Any], sites: dict[str, Path]) -> Run:
    """A run that a site joined after round 3."""
    if "run" not in made:
        made["run"] = start(LateGrid(sites, LATE), SETTINGS, made["root"] / "run")
    return made["run"]


def goes_on(sites: dict[str, Path], out: Path, **given: Any) -> Run:
    """Resume where the site still is connected."""
    grid = LateGrid(sites)
    grid.add_site(LATE, sites[LATE])
    serve(grid, Context(2, 1, {}, RecordDict(), {"resume": str(out), **given}), grid.engine)
    return Run(out)


def test_it_is_the_run_that_the_site_never_joined(run: Run, sites: dict[str, Path], tmp_path: Path) -> None:
    assert LATE in (run.path / "clients.csv").read_text()
    never = start(LateGrid(sites), SETTINGS, tmp_path / "never")
    assert begin_without(run.path, LATE, tmp_path / "again").round == AFTER
    again = goes_on(sites, tmp_path / "again")
    for which in ("best", "final"):
        np.testing.assert_array_equal(again.model(which), never.model(which))
        assert not np.array_equal(again.model(which), run.model(which))
    told = ("bytes_sent", "bytes_received", "bytes_evaluation")
    kept, wanted = ([{k: v for k, v in r.items() if k not in told} for r in each.lasting] for each in (again, never))
    assert kept == wanted
    assert LATE not in (again.path / "clients.csv").read_text()


def test_the_new_folder_says_where_it_comes_from(run: Run, tmp_path: Path) -> None:
    begin_without(run.path, LATE, tmp_path / "again")
    told = read_origin(tmp_path / "again")
    assert told["without"] == [LATE]
    assert told["begun_from"] == {"run": "run", "run_id": "1", "after_round": AFTER}
    assert "run_id" not in told


def test_a_site_that_was_there_before_round_1_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"it was there before round 1 .* first of them 1\."):
        begin_without(run.path, "ward-a", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_client_that_there_is_not_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no client 'ward-z': its clients are ward-a, ward-b, ward-c"):
        begin_without(run.path, "ward-z", tmp_path / "again")


def test_a_folder_that_is_not_empty_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ArtefactError, match="not empty"):
        begin_without(run.path, LATE, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_checkpoint_before_a_join_goes_with_the_rounds_that_are_done_again(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "copy" / CHECKPOINTS
    folder.parent.mkdir()
    shutil.copytree(run.path / CHECKPOINTS, folder)
    assert [kept.round for kept in before_joins(folder.parent)] == [8, 7, 6, AFTER]
    drop_joins_after(folder.parent, AFTER)
    assert AFTER in [kept.round for kept in before_joins(folder.parent)]
    drop_joins_after(folder.parent, AFTER - 1)
    assert [kept.round for kept in before_joins(folder.parent)] == [8, 7, 6]


def test_of_many_joins_the_last_ones_are_kept(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(run.path / CHECKPOINTS, tmp_path / CHECKPOINTS)
    monkeypatch.setattr(joins, "MOST", 2)
    for number in (6, 7):
        joins.keep_before_join(tmp_path, number)
    assert [path.name for path in joins._files(tmp_path)] == [checkpoint_name(number) for number in (6, 7)]


def test_the_command_wants_a_folder_for_the_new_run(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resume", str(run.path), "--without", LATE]) == 2
    assert "in a folder of its own" in capsys.readouterr().err
