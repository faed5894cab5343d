"""A run with a shared head over TLS: its model holds the head, and a new site begins with it, predicts, certifies."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.methods.make import make_method
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel
from server.run.model_file import load_model
from tests.deploy.deployment import WARDS, deployed
from tests.deploy.digit_images import write_digits

pytestmark = pytest.mark.slow

ROUNDS = 3
NEW = (1, 4)  # digits of a site that never trains, which no other site has together


def test_sites_share_a_head_and_a_new_one_begins_with_it(tmp_path: Path) -> None:
    with deployed(tmp_path, WARDS) as made:
        run = made.start_run(
            "head",
            *("--preset", "shared-head", "--rounds", str(ROUNDS), "--clients-per-round", "3"),
            *("--set", "min-clients=3", "--set", "aggregation=median"),
        )
        assert run.ends(300.0) == 0, run.text
        assert [(record["ok"], record["failed"]) for record in made.rounds("head")] == [(3, {})] * ROUNDS
        best = made.runs / "head" / "best"
        vector, meta = load_model(best)
        model = TrainedModel.from_artefact(vector, meta)
        head = model.state.head
        assert head is not None
        assert tuple(head.weight.shape) == (6, model.settings.feature_dim)
        start = make_method(Settings.from_run_config(meta["settings"]), model.input_shape, 6).initial()
        size = head.weight.numel() + head.bias.numel()
        assert np.abs(vector[-size:] - start[-size:]).max() > 1e-3

        data, site = write_digits(tmp_path / "new", NEW, 60), tmp_path / "site"
        test = write_digits(tmp_path / "test", NEW, 20, first=60)
        made_site = made.call("onboard", "--model", str(best), "--data", str(data), "--out", str(site), "--name", "new")
        assert made_site.returncode == 0, made_site.stdout + made_site.stderr
        assert SavedSite.load(site).classifier.logits_of is not None

        table = tmp_path / "p.csv"
        done = made.call("predict", "--site", str(site), "--data", str(test), "--out", str(table), "--explain", "1")
        assert done.returncode == 0, done.stdout + done.stderr
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 40
        assert all(row["because"].startswith("(shared head):") for row in rows)
        assert np.mean([row["predicted"] in row["id"] for row in rows]) > 0.6

        done = made.call("certify", "--site", str(site), "--unseen", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert 0 < min(_bounds(json.loads(done.stdout))) < 1


def _bounds(found: object) -> list[float]:
    """All numbers of the name ``bound`` in an answer."""
    if isinstance(found, list):
        return [each for part in found for each in _bounds(part)]
    if not isinstance(found, dict):
        return []
    own = [value for key, value in found.items() if key == "bound" and isinstance(value, float)]
    return own + [each for part in found.values() for each in _bounds(part)]
