"""The disclosure floor: no count below it, sums as before, and what the server reads of it."""

import numpy as np
import pytest

from pfedgp_core.errors import PolicyError
from pfedgp_core.metrics.calibration import CalibrationSums, confusion_counts, temperature_sums
from pfedgp_core.metrics.class_scores import score_counts
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.output_scale import ScaleEvidence, ScaleSums
from pfedgp_core.policy.floor import evaluation_that_leaves, joined_bins, training_that_leaves
from pfedgp_core.policy.site_policy import SitePolicy
from pfedgp_core.wire.replies import EvaluateReply


def evaluation(n: int, seed: int = 0, classes: int = 3) -> EvaluateReply:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.5), n)
    labels = rng.integers(0, classes, n)
    at = temperature_sums(p, labels)
    table = confusion_counts(labels, p.argmax(1))
    calibration = CalibrationSums(at, at, table)
    return EvaluateReply("ward-3", "test", metric_sums(p, labels), {"a": 1}, {"b": 0.5}, calibration)


@pytest.mark.parametrize("seed", range(30))
def test_joined_bins_hold_enough_and_lose_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, 15).tolist()
    groups = joined_bins(counts, 7)
    assert sorted(place for group in groups for place in group) == [i for i, n in enumerate(counts) if n]
    held = [sum(counts[place] for place in group) for group in groups]
    assert all(n >= 7 for n in held) or len(held) == 1
    assert [place for group in groups for place in group] == sorted(place for group in groups for place in group)


@pytest.mark.parametrize("n", [40, 400])
def test_what_leaves_is_read_by_the_server_and_has_no_small_cell(n: int) -> None:
    reply = evaluation(n)
    config, metrics = reply.to_wire()
    read = EvaluateReply.from_wire(config, evaluation_that_leaves(SitePolicy(min_cell=9), metrics))
    assert (read.sums.n, read.sums.correct) == (reply.sums.n, reply.sums.correct)
    assert read.sums.nll_sum == reply.sums.nll_sum
    parts = [read.sums, *(read.calibration.test if read.calibration else ())]
    assert [c for part in parts for c in part.bin_count if 0 < c < 9] == []
    assert sum(read.sums.bin_confidence) == pytest.approx(sum(reply.sums.bin_confidence))
    assert (read.calibration is None) == (n == 40)  # its table of classes has small cells


def test_scores_leave_only_where_no_bin_is_small() -> None:
    reply = evaluation(400)
    config, metrics = reply.to_wire()
    rng = np.random.default_rng(1)
    p, labels = rng.dirichlet(np.ones(3), 400), rng.integers(0, 3, 400)
    scores = score_counts(p, np.arange(3), labels).to_dict()
    metrics |= {f"calibration.scores.{key}": value for key, value in scores.items()}
    left = evaluation_that_leaves(SitePolicy(min_cell=9), metrics)
    assert "calibration.confusion.count" in left
    assert not any("scores" in key for key in left)
    assert evaluation_that_leaves(SitePolicy(), metrics) == metrics
    assert config["client"] == "ward-3"


def test_groups_that_are_kept_back() -> None:
    _, metrics = evaluation(40).to_wire()
    left = evaluation_that_leaves(SitePolicy(metrics=("results",)), metrics)
    assert {key.split(".")[0] for key in left} == {"sums"}
    with pytest.raises(PolicyError, match="keeps results"):
        evaluation_that_leaves(SitePolicy(metrics=("calibration",)), metrics)
    with pytest.raises(PolicyError, match="40 samples"):
        evaluation_that_leaves(SitePolicy(min_cell=41), metrics)


def test_likelihoods_at_output_scales_go_with_the_evidence_and_the_floor() -> None:
    sums = ScaleSums(8, (-3.0,) * 5)
    config, metrics = EvaluateReply("ward-3", "scales", MetricSums(), scales=ScaleEvidence(sums)).to_wire()
    assert EvaluateReply.from_wire(config, evaluation_that_leaves(SitePolicy(min_cell=8), metrics)).scales is not None
    for policy in (SitePolicy(min_cell=9), SitePolicy(metrics=("results", "calibration"))):
        assert EvaluateReply.from_wire(config, evaluation_that_leaves(policy, metrics)).scales is None


def test_an_update_reports_what_it_must_alone() -> None:
    metrics = {"n_train": 7, "steps": 3, "gradients": 2, "loss": 0.5, "counter.a": 1, "seconds.b": 0.1}
    assert training_that_leaves(SitePolicy(metrics=()), metrics) == {"n_train": 7, "steps": 0, "gradients": 0}
    assert training_that_leaves(SitePolicy(), metrics) == metrics
    with pytest.raises(PolicyError, match="'label'"):
        training_that_leaves(SitePolicy(), metrics | {"label": 1})
