"""Certificates of digits sites that the federation never saw; docs/certificate.md has three seeds."""

from pathlib import Path

import numpy as np
import pytest

from experiments.certificate_digits import answered, certificates, run, site_of


@pytest.mark.slow
def test_sites_of_fifty_samples(tmp_path: Path) -> None:
    """Seed 1, in which no classifier on the way errs; one error costs 12 points."""
    folder = run(tmp_path / "run", seed=1)
    found = [certificates(site_of(folder, name), seed=1) for name in ("client-18", "client-19")]
    assert np.mean([row["deployed, 1000 unlabelled"] for row in found]) <= 0.25
    assert np.mean([row["deployed, 40 unlabelled"] for row in found]) <= 0.45
    assert all(row["true error"] <= row["deployed, 1000 unlabelled"] for row in found)
    assert answered(folder)["answered"] >= 0.95
