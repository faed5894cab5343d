"""A model of 45 MB through deployed rounds: ResNet-18."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.benchmarking.deployment import write_samples
from server.run.model_file import load_model
from tests.deploy.deployment import Deployment

pytestmark = pytest.mark.slow

NAMES = ["ward-a", "ward-b"]
ROUNDS = 2


def test_resnet_18_trains_in_a_deployment(tmp_path: Path) -> None:
    with Deployment(tmp_path, NAMES) as deployment:
        deployment.start_server()
        for seed, name in enumerate(NAMES):
            data = tmp_path / f"{name}.npz"
            write_samples(data, seed)
            deployment.start_site(name, "--data", str(data))
        deployment.connected()
        run = deployment.start_run(
            "large",
            *("--rounds", str(ROUNDS), "--network", "resnet18", "--clients-per-round", "2"),
            *("--set", "min-clients=2", "--set", "evaluate-every=1", "--set", "personalise=false"),
        )
        assert run.ends(400.0) == 0, run.text
        records = deployment.rounds("large")
        assert [(r["round"], r["ok"], r["failed"], r["validation_failed"]) for r in records] == [
            (number, 2, {}, {}) for number in range(1, ROUNDS + 1)
        ]
        assert all(record["bytes_sent"] >= 2 * 44e6 and record["bytes_received"] >= 2 * 44e6 for record in records)
        vector, meta = load_model(deployment.runs / "large" / "final")
        assert vector.nbytes > 44e6
        assert np.isfinite(vector).all()
        assert meta["round"] == ROUNDS
        first, last = (int(f.stem.removeprefix("round-")) for f in checkpoint_files(deployment.runs / "large")[::2])
        assert (first, last) == (0, ROUNDS)


def checkpoint_files(run: Path) -> list[Path]:
    """The checkpoints of a run, in order."""
    return sorted((run / "checkpoints").glob("round-*.safetensors"))
