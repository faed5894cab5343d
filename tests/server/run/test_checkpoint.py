"""Checkpoints: whole or not there, the last three, nothing damaged or newer is read."""

import json
import logging
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import ArtefactError, NonFiniteError
from server.run.checkpoint import Checkpoint, Model, newest_checkpoint, sweep_partial, write_checkpoint
from server.run.files import truncate_lines

CURRENT = np.array([1.5, -0.0, 2.0**-140], np.float32)
SPEC = DataSpec(("cat", "dog"), (3,), (0.1, 0.1, 0.1), (0.2, 0.2, 0.2))
PENDING = {"round": 7, "train_loss": 0.1, "failed": {}, "seconds": {"round": 1.0}}


def checkpoint(number: int = 7, **changes: Any) -> Checkpoint:
    fields: dict[str, Any] = {
        "settings": Settings(rounds=9, seed=3),
        "spec": SPEC,
        "roster": {"clients": [{"hello": {"name": "ward-3"}, "trained_in": [1, 7], "online": True}]},
        "current": Model(CURRENT, number, {"accuracy": 0.1 + 0.2, "nll": None}),
        "best": Model(CURRENT + 1, 3, {"accuracy": 1.0}),
        "failed_rounds": [{"ward-3": "no reply"}],
        "lines": 6,
        "pending": PENDING,
        "run": {"engine": "deployment"},
        "seconds": 12.5,
    }
    return Checkpoint(round=number, **fields | changes)


def file_of(run: Path, number: int) -> Path:
    return run / "checkpoints" / f"round-{number:06d}.safetensors"


def test_what_was_written_is_read_to_the_last_bit(tmp_path: Path) -> None:
    written = checkpoint()
    write_checkpoint(tmp_path, written)
    read = newest_checkpoint(tmp_path)
    assert read is not None
    assert read.best is not None
    assert written.best is not None
    for one, other in ((read.current, written.current), (read.best, written.best)):
        assert one.vector.tobytes() == other.vector.tobytes()
        assert (one.round, dict(one.metrics)) == (other.round, dict(other.metrics))
    vectors = {"current", "best"}
    plain = [{k: v for k, v in vars(c).items() if k not in vectors} for c in (read, written)]
    assert plain[0] == plain[1]
    assert asdict(read.spec) == asdict(SPEC)


@pytest.mark.parametrize("best", [None, Model(CURRENT.copy(), 7, {"accuracy": 1.0})])
def test_a_best_model_that_is_the_current_one_or_none_is_not_kept_twice(best: Model | None, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, checkpoint(best=best))
    with safe_open(file_of(tmp_path, 7), framework="numpy") as file:
        assert list(file.keys()) == ["current"]
    read = newest_checkpoint(tmp_path)
    assert read is not None
    assert (read.best is None) == (best is None)
    assert best is None or read.best.vector.tobytes() == CURRENT.tobytes()


def test_zeros_of_two_signs_are_two_models(tmp_path: Path) -> None:
    best = Model(np.array([1.5, 0.0, 2.0**-140], np.float32), 3)
    write_checkpoint(tmp_path, checkpoint(best=best))
    read = newest_checkpoint(tmp_path)
    assert read is not None
    assert read.best is not None
    assert read.best.vector.tobytes() == best.vector.tobytes()


def test_the_last_three_are_kept_also_beyond_six_digits(tmp_path: Path) -> None:
    for number in (999_998, 999_999, 1_000_000, 1_000_001):
        write_checkpoint(tmp_path, checkpoint(number))
    kept = sorted(int(path.name[6:].split(".")[0]) for path in (tmp_path / "checkpoints").iterdir())
    assert kept == [999_999, 1_000_000, 1_000_001]
    newest = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.round == 1_000_001


def test_without_checkpoints_there_is_none(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path) is None
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "notes.txt").write_text("mine")
    assert newest_checkpoint(tmp_path) is None


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 4
    path.write_bytes(content)


def foreign(path: Path) -> None:
    save_file({"shared": CURRENT}, path)


def edited(path: Path, **changes: Any) -> None:
    """Change the header, as somebody would who wants other numbers in it."""
    with safe_open(path, framework="numpy") as file:
        tensors, metadata = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    header = json.loads(metadata["checkpoint"]) | changes
    save_file(tensors, path, metadata=metadata | {"checkpoint": json.dumps(header)})


@pytest.mark.parametrize("damage", [cut, empty, flipped, foreign, lambda path: edited(path, lines=0)])
def test_a_damaged_one_is_named_and_the_one_before_is_used(
    damage: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pfedgp")
    for number in (5, 6):
        write_checkpoint(tmp_path, checkpoint(number))
    damage(file_of(tmp_path, 6))
    read = newest_checkpoint(tmp_path)
    assert read is not None
    assert read.round == 5
    assert "round-000006.safetensors" in caplog.text
    assert "goes on from round 5" in caplog.text
    cut(file_of(tmp_path, 5))
    with pytest.raises(ArtefactError, match=r"No checkpoint in .* is whole \(round-000006.*round-000005.*restore"):
        newest_checkpoint(tmp_path)


def test_one_of_a_newer_version_is_not_passed_over(tmp_path: Path) -> None:
    for number in (5, 6):
        write_checkpoint(tmp_path, checkpoint(number))
    edited(file_of(tmp_path, 6), schema=99)
    with pytest.raises(ArtefactError, match=r"schema version 99, and this version of pFedGP reads up to 2: update"):
        newest_checkpoint(tmp_path)


def test_what_is_not_finite_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(NonFiniteError, match="round 7 holds NaN or infinity"):
        write_checkpoint(tmp_path, checkpoint(current=Model(np.full(3, np.inf, np.float32))))
    assert newest_checkpoint(tmp_path) is None


@pytest.mark.slow
def test_as_much_as_a_file_takes_is_read_again(tmp_path: Path) -> None:
    roster = {"greetings": "x" * 90_000_000}
    write_checkpoint(tmp_path, checkpoint(roster=roster))
    read = newest_checkpoint(tmp_path)
    assert read is not None
    assert read.roster == roster


def test_what_a_file_does_not_take_is_refused_and_the_former_one_is_whole(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, checkpoint(6))
    too_much = {"greetings": '"' * 30_000_000}  # each mark costs up to four characters
    with pytest.raises(ArtefactError, match=r"The checkpoint of round 7 needs 60 MB .* run with fewer clients"):
        write_checkpoint(tmp_path, checkpoint(roster=too_much))
    read = newest_checkpoint(tmp_path)
    assert read is not None
    assert read.round == 6


def test_leftovers_of_a_killed_process_are_removed_and_nothing_else(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, checkpoint())
    shutil.copy(file_of(tmp_path, 7), tmp_path / "checkpoints" / ".round-000008.safetensors.partial")
    (tmp_path / ".config.toml.12.partial").write_text("half")
    (tmp_path / "mine.partial").write_text("mine")
    sweep_partial(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"mine.partial", "checkpoints/round-000007.safetensors"}


def test_a_file_of_lines_is_cut_to_those_that_count(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert truncate_lines(path, 0) == []
    path.write_bytes(b'{"a": 1}\n{"b": "\xc3\xa9"}\n{"half')
    with pytest.raises(ArtefactError, match="fewer than the 3 lines"):
        truncate_lines(path, 3)
    assert truncate_lines(path, 2) == ['{"a": 1}\n', '{"b": "\u00e9"}\n']
    assert path.read_bytes() == b'{"a": 1}\n{"b": "\xc3\xa9"}\n'
    with pytest.raises(ArtefactError, match="fewer than the 3 lines"):
        truncate_lines(path, 3)
