"""What a simulation runs on: engine, workers, GPUs, and the options that say so."""

import os

import pytest
import torch

from pfedgp.cli import main
from pfedgp.local import gpus
from pfedgp.local.gpus import GPUShare
from pfedgp.local.resources import Resources
from pfedgp_core.errors import ConfigError
from tests.pfedgp.recorded_runs import Runs, complaint


def test_by_default_a_worker_a_core_on_the_pool_and_no_gpu() -> None:
    resources = Resources()
    assert (resources.engine, resources.share.workers, resources.share.gpus) == ("pool", os.cpu_count(), 0)


def test_the_options_say_it(runs: Runs) -> None:
    assert main(["simulate", "--engine", "ray", "--cluster", "10.0.0.1:6379"]) == 0
    assert runs.resources == Resources(engine="ray", cluster="10.0.0.1:6379")
    assert main(["simulate", "--workers", "3"]) == 0
    assert runs.resources == Resources(3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "dask"], "engine = 'dask' is not known; choose one of: pool, ray"),
        (["--cluster", "10.0.0.1:6379"], "needs the engine of Ray: add --engine ray"),
        (["--engine", "ray", "--cluster", "a:1", "--workers", "2"], "workers does not go with cluster"),
        (["--gpus", "-1"], "--gpus '-1' is not 0 or a positive integer"),
        (["--gpus", "two"], "--gpus 'two' is not 0 or a positive integer"),
        (["--gpus", "99"], "gpus = 99, and torch finds "),
    ],
)
def test_mistakes(words: list[str], said: str, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *words]) == 2
    assert said in complaint(capsys)
    assert not runs


def test_too_few_gpus() -> None:
    with pytest.raises(ConfigError, match="gpus = -1 is too few"):
        Resources(gpus=-1)


def test_workers_share_the_gpus_in_turn() -> None:
    share = GPUShare(workers=5, gpus=2)
    assert [share.device(index) for index in range(5)] == ["0", "1", "0", "1", "0"]
    assert share.fraction == pytest.approx(1 / 3)  # three workers on the first


def test_fewer_workers_than_gpus_have_one_each() -> None:
    share = GPUShare(workers=2, gpus=4)
    assert [share.device(0), share.device(1), share.fraction] == ["0", "1", 1.0]


def test_the_gpus_of_this_process_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VISIBLE, "2, GPU-7f")
    share = GPUShare.here(workers=4, gpus=2)
    assert [share.device(index) for index in range(3)] == ["2", "GPU-7f", "2"]


def test_a_worker_enters_with_its_gpu_and_its_part_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[float] = []
    monkeypatch.setenv(gpus.VISIBLE, "")
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", taken.append)
    GPUShare(workers=4, gpus=1).enter(3)
    assert (os.environ[gpus.VISIBLE], taken) == ("0", [0.25])


def test_without_gpus_a_worker_sees_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(gpus.VISIBLE, "0")
    GPUShare(workers=1, gpus=0).enter(0)
    assert os.environ[gpus.VISIBLE] == ""
