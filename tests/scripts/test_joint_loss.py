"""experiments/joint_loss.py: its losses beside the product's, varied images, and a tiny study that goes on."""

import importlib
import json
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.methods.make import make_method
from pfedgp_core.numerics.streams import Stream

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
TINY = ["--dataset", "digits", "--clients", "10", "--rounds", "2", "--evaluate", "3"]


@cache
def script() -> ModuleType:
    """The script, which finds its neighbours in its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXPERIMENTS)
        return importlib.import_module("joint_loss")


def samples(classes: int = 2) -> TensorSplit:
    stream = Stream(3, "samples")
    return TensorSplit(stream.normal(40, 1, 8, 8), torch.arange(40) % classes)


def updated(**loss: float) -> np.ndarray:
    settings = Settings().replace(**script().SHARED)
    joint = script().Joint(settings, (1, 8, 8), 10, script().Loss(**loss))
    update = joint.update(joint.initial(), None, samples(), Stream(5, "visit"))
    assert update.result.counters == {}
    return update.upload


@pytest.mark.parametrize("run", ["head from zeros", "FedAvg"])
def test_without_more_it_learns_as_the_product_does(run: str) -> None:
    ours = make_method(Settings().replace(**script().RUNS[run].changes), (1, 8, 8), 10)
    start = script().Joint(Settings().replace(**script().SHARED), (1, 8, 8), 10).initial()
    expected = ours.update(start, None, samples(), Stream(5, "visit")).upload
    assert expected is not None
    assert np.array_equal(updated(), expected)


@pytest.mark.parametrize("loss", [{"weight": 1.0}, {"steps": 2}, {"steps": -2}, {"own": 0.5}, {"smoothing": 0.1}])
def test_every_part_of_the_loss_changes_what_is_learned(loss: dict[str, float]) -> None:
    assert not np.array_equal(updated(**loss), updated())


def test_steps_of_the_trees_lower_their_loss() -> None:
    settings, data = Settings().replace(**script().SHARED), samples()
    joint = script().Joint(settings, (1, 8, 8), 10)

    def loss(vector: np.ndarray) -> float:
        state = joint.shared_state(vector, None, data, Stream(0))
        found: Tensor = joint._trees(state, data, Stream(1), script().UpdateResult())
        return found.item()

    assert loss(updated(steps=10, rate=2.0)) < loss(updated()) - 0.02


def test_a_client_of_one_class_has_no_trees_to_learn_from() -> None:
    joint = script().Joint(Settings().replace(**script().SHARED), (1, 8, 8), 10, script().Loss(weight=1.0, steps=1))
    update = joint.update(joint.initial(), None, samples(1), Stream(5, "visit"))
    assert update.result.status == "ok"
    assert np.isfinite(update.upload).all()


def test_varied_images_are_shifted_and_mirrored_copies() -> None:
    images = 1 + torch.arange(6 * 3 * 64.0).reshape(6, 3, 8, 8)
    batch = script().Varied(images, Stream(0))[torch.arange(6)]
    assert batch.shape == images.shape
    ways = set()
    for made, whole in zip(batch, images, strict=True):
        around = torch.nn.functional.pad(whole, (4, 4, 4, 4))
        matches = [
            (y, x, mirrored)
            for mirrored in (False, True)
            for y in range(9)
            for x in range(9)
            if torch.equal(made.flip(-1) if mirrored else made, around[:, y : y + 8, x : x + 8])
        ]
        assert len(matches) == 1
        ways.add(matches[0])
    assert len(ways) == 6
    assert torch.equal(batch, script().Varied(images, Stream(0))[torch.arange(6)])


@pytest.mark.parametrize(
    ("run", "fedavg"),
    [
        ("head from zeros", "FedAvg"),
        ("sum, 1, cosine", "FedAvg, cosine"),
        ("3 steps after, 0.05, varied", "FedAvg, varied"),
        ("1 step after, 0.05, cosine, varied", "FedAvg, cosine, varied"),
    ],
)
def test_a_run_is_compared_with_fedavg_of_its_kind(run: str, fedavg: str) -> None:
    assert script().reference(run) == fedavg
    assert {run, fedavg} <= script().RUNS.keys()


def test_a_difference_has_the_error_of_a_mean_over_clients() -> None:
    rng = np.random.default_rng(0)
    n, first, second = np.full(400, 20), rng.binomial(20, 0.9, 400), rng.binomial(20, 0.8, 400)
    lines = [{"n": n.tolist(), "correct": each.tolist()} for each in (first, second)]
    apart, error = script().difference(*lines)
    assert apart == pytest.approx(100 * (first - second).mean() / 20)
    assert error == pytest.approx(100 * np.std((first - second) / 20) / 20)


@pytest.mark.slow
def test_a_study_goes_on_and_its_table_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.jsonl"
    arguments = ["--out", str(out), *TINY, "--runs", "FedAvg", "head from zeros"]
    script().main(arguments)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(s["run"], s["state"], s["head"]) for s in lines} == {
        (run, state, head)
        for run in ("FedAvg", "head from zeros")
        for state in ("last", "averaged")
        for head in ("tree", "tuned", "head")
    }
    monkeypatch.setattr(script(), "trained", lambda *_: pytest.fail("it ran again"))
    script().main(arguments)
    script().main(["--out", str(out), "--table"])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == 12
    assert [row for row in rows if "±" not in row] == [row for row in rows if "FedAvg |" in row and "tuned" in row]


def test_an_unknown_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script().main(["--out", str(tmp_path / "r"), "--runs", "nothing"])
    assert "there is no run 'nothing'" in capsys.readouterr().err
