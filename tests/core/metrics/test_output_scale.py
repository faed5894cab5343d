"""The choice of the output scale from the clients' sums, and what the server takes as such sums."""

import math
from dataclasses import replace

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.output_scale import (
    SCALES,
    ScaleEvidence,
    ScaleSums,
    choose_scale,
    scale_grid,
    with_scale,
)

SETTINGS = Settings()


def peak(at: int, n: int = 10, height: float = 1.0) -> ScaleSums:
    """Sums whose largest is at a place of the grid."""
    return ScaleSums(n, tuple(-n * height * (1 + abs(k - at)) / 10 for k in range(len(SCALES))))


@pytest.mark.parametrize("place", range(len(SCALES)))
def test_the_clients_scale_is_taken(place: int) -> None:
    assert choose_scale([peak(place)] * 4, SETTINGS) == SCALES[place]


def test_sums_add_up_and_nothing_is_no_sample() -> None:
    total = peak(0) + peak(1)
    assert total.n == 20
    assert total.values[0] == pytest.approx(peak(0).values[0] + peak(1).values[0])
    assert ScaleSums() + peak(3) == peak(3) == peak(3) + ScaleSums()


def test_without_anything_to_go_by_nothing_is_chosen() -> None:
    sure = ScaleSums(7, (0.0,) * len(SCALES))  # a client with a single class
    assert choose_scale([], SETTINGS) is None
    assert choose_scale([sure, ScaleSums()], SETTINGS) is None
    assert choose_scale([sure, peak(3)], SETTINGS) == SCALES[3]


@pytest.mark.parametrize("claim", [10, 10**9])
def test_one_client_moves_the_choice_by_one_scale_at_most(claim: int) -> None:
    """Whatever it says and however many samples it claims to have."""
    honest = [peak(1) for _ in range(4)]
    assert choose_scale(honest, SETTINGS) == 32
    liar = ScaleSums(claim, tuple(0.0 if k == 3 else -20.0 * claim for k in range(len(SCALES))))
    assert choose_scale([*honest, liar], SETTINGS) == 128


def test_a_client_with_many_samples_counts_as_the_median_one() -> None:
    assert choose_scale([peak(2)] * 3 + [peak(0, n=1000)] * 2, SETTINGS) == 128


def test_a_scale_of_the_settings_is_one_of_the_grid_and_keeps_its_sweeps() -> None:
    settings = SETTINGS.replace(gp=replace(SETTINGS.gp, output_scale=50.0))
    assert scale_grid(settings) == (8, 32, 50, 128, 512)
    assert with_scale(settings, 50.0) is settings
    larger = with_scale(settings, 512.0).gp
    assert larger.output_scale == 512
    assert larger.predict_sweeps > settings.gp.predict_sweeps
    many = SETTINGS.replace(gp=replace(SETTINGS.gp, predict_sweeps=500))
    assert with_scale(many, 512.0).gp.predict_sweeps == 500
    assert with_scale(SETTINGS.replace(gp=replace(SETTINGS.gp, predict_sweeps=0)), 8.0).gp.predict_sweeps >= 5


def test_what_is_sent_is_read_back() -> None:
    evidence = ScaleEvidence(peak(1), ScaleSums())
    assert ScaleEvidence.from_dict(evidence.to_dict()) == evidence
    assert evidence.fits(10, 0)
    assert not evidence.fits(9, 0)
    assert not ScaleEvidence(left_out=peak(1)).fits(10, 9)


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2, "values": [math.nan] * 5},
        {"n": 2, "values": [-math.inf] * 5},
        {"n": 2, "values": [0.1] * 5},
        {"n": 2, "values": [-60.0] * 5},
        {"n": 2, "values": []},
        {"n": 0, "values": [-1.0] * 5},
        {"n": -1, "values": [-1.0] * 5},
        {"n": 2, "values": "text"},
        {"n": 2},
    ],
)
def test_sums_that_cannot_be_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(DataError):
        ScaleSums.from_dict(fields)
