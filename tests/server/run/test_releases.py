"""What privacy costs is counted by what was asked, also where a run was killed and asked again."""

from pathlib import Path

import pytest

from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.learning.privacy import spent
from pfedgp_core.wire.names import TRAIN
from server.run import releases
from server.run.releases import Releases
from tests.federation_run import federate, resume
from tests.killed import at_message, killed
from tests.uninterrupted import SETTINGS, without_pictures

PRIVATE = SETTINGS.replace(dp_noise=20.0, dp_clip=0.1, rounds=3)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


@pytest.mark.slow
def test_a_round_that_is_done_again_counts_twice(tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(PRIVATE, out, at_message(TRAIN, 2)))
    with (out / "releases.jsonl").open("a") as file:
        file.write('{"round": 2, "cli')  # killed once more, before anybody was asked
    run = resume(out)
    asked = [name for record in run.records for name in record["sampled"]] + run.records[1]["sampled"]
    assert run.summary["epsilon"] == {name: spent(PRIVATE, asked.count(name)) for name in sorted(set(asked))}
    assert run.summary["delta"] == PRIVATE.dp_delta
    assert max(map(asked.count, asked)) > 1


def test_a_run_whose_requests_are_lost_does_not_go_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed(lambda: federate(PRIVATE, out, at_message(TRAIN, 3)))
    (out / "releases.jsonl").unlink()
    with pytest.raises(ArtefactError, match="epsilon of this run"):
        resume(out)


def test_without_noise_nothing_is_stated(tmp_path: Path) -> None:
    run = federate(SETTINGS.replace(rounds=1), tmp_path / "run")
    assert "epsilon" not in run.summary
    assert not (run.path / "releases.jsonl").exists()


def test_without_the_accountant_the_run_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(settings: object) -> None:
        raise ConfigError("install it")

    monkeypatch.setattr(releases, "require_accountant", missing)
    with pytest.raises(ConfigError, match="install it"):
        Releases(tmp_path, PRIVATE)
    Releases(tmp_path, SETTINGS)
