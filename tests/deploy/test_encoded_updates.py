"""int8 updates and drawn evaluations over gRPC: fewer bytes, none refused, and what was left out kept at the site."""

from pathlib import Path

import pytest

from pfedgp_core.wire.encodings import INT8, encoded_bytes
from server.run.model_file import load_model
from tests.deploy.deployment import WARDS, deployed

pytestmark = pytest.mark.slow

ROUNDS = 2


def test_a_deployment_sends_int8_updates(tmp_path: Path) -> None:
    with deployed(tmp_path, WARDS) as deployment:
        run = deployment.start_run(
            "short",
            *("--rounds", str(ROUNDS), "--clients-per-round", "3", "--set", "min-clients=3"),
            *("--set", f"update-encoding={INT8}", "--set", "evaluate-every=1", "--set", "evaluate-clients=2"),
            *("--set", "personalise=false"),
        )
        assert run.ends(200.0) == 0, run.text
        size = len(load_model(deployment.runs / "short" / "final")[0])
        records = deployment.rounds("short")
        assert [(r["failed"], r["bytes_received"]) for r in records] == [({}, 3 * encoded_bytes(INT8, size))] * ROUNDS
        assert [(r["evaluated"], r["evaluated_of"]) for r in records] == [(2, 3)] * ROUNDS
        for name in WARDS:
            kept = list((deployment.site_state(name) / "kept").rglob("*.state"))
            assert any(file.stem == str(ROUNDS) for file in kept)
