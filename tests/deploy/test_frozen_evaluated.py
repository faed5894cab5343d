"""A federation on a frozen backbone over TLS, whose server has no weights, and an evaluation of its model."""

import json
from pathlib import Path

import pytest

from tests.backbones import write_backbone
from tests.deploy.deployment import Deployment
from tests.deploy.digit_images import write_digits

SITES = {"ward-a": (0, 1), "ward-b": (2, 3)}


@pytest.mark.slow
def test_a_frozen_run_and_its_evaluation(tmp_path: Path) -> None:
    file = write_backbone(tmp_path / "small.ts")
    backbone = ("--backbone", f"small={file}")
    with Deployment(tmp_path / "d", list(SITES)) as made:
        made.start_server()
        for name, classes in SITES.items():
            made.start_site(name, "--data", str(write_digits(made.data(name), classes, 60)), *backbone)
        made.connected()
        frozen = ("--network", "frozen:small", *backbone, "--set", "input-shape=1,8,8")
        run = made.call(
            *("run", "--state", str(made.state), "--out", str(made.runs / "night"), "--rounds", "2", *frozen),
            timeout=240.0,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        best = str(made.runs / "night" / "best")
        done = made.call(
            *("evaluate", "--state", str(made.state), "--model", best, "--out", str(made.runs / "found"), "--json"),
            timeout=240.0,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert [row["name"] for row in found["sites"]] == list(SITES)
        assert found["mean"]["sites"] == 2
        assert found["model"]["network"].startswith("frozen:small:12:")
        assert (made.runs / "found" / "evaluation.html").is_file()
