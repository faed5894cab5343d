"""The bound on single clients: how far one moves the model, whose norm decides, and what is refused."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.learning.aggregation import combine
from pfedgp_core.learning.influence import Influence, Judgement, model_norm, shortened, update_norm

SIZE = 4
SENT = np.ones(SIZE, np.float32)  # of norm 2
TWICE = Settings(clip_updates=2.0, max_update_norm=100.0)
SMALL, ANY = st.floats(-10, 10, width=32), st.floats(-(2.0**100), 2.0**100, width=32)


def along(*norms: float) -> list[np.ndarray]:
    """Vectors whose updates have these norms."""
    return [SENT + np.float32(norm) * np.eye(SIZE, dtype=np.float32)[0] for norm in norms]


def judged(vectors: list[np.ndarray], settings: Settings = TWICE, former: tuple[float, ...] = ()) -> Judgement:
    influence = Influence(settings)
    influence.recall(former)
    return judge(influence, vectors)


def judge(
    influence: Influence,
    vectors: list[np.ndarray],
    counts: Sequence[int] = (),
    sent: list[np.ndarray] | None = None,
) -> Judgement:
    """What a round with these vectors makes of them."""
    started = sent or [SENT] * len(vectors)
    norms = [update_norm(start, vector) for start, vector in zip(started, vectors, strict=True)]
    return influence.judge(norms, model_norm(started), SIZE, counts or [10] * len(vectors))


def used(vectors: list[np.ndarray], judgement: Judgement) -> list[np.ndarray]:
    return [
        shortened(SENT, v, judgement.factors[i]) if i in judgement.factors else v
        for i, v in enumerate(vectors)
        if i not in judgement.refused
    ]


def lengths(vectors: list[np.ndarray], settings: Settings = TWICE, former: tuple[float, ...] = ()) -> list[float]:
    """Norms of the updates as they are used, without those that are refused."""
    return [update_norm(SENT, vector) for vector in used(vectors, judged(vectors, settings, former))]


def rows(values: st.SearchStrategy[float], least: int, most: int) -> st.SearchStrategy[list[list[float]]]:
    return st.lists(st.lists(values, min_size=SIZE, max_size=SIZE), min_size=least, max_size=most)


@pytest.mark.slow
@examples(max_examples=200)
@given(rows(SMALL, 2, 8), st.lists(ANY, min_size=SIZE, max_size=SIZE), st.randoms())
def test_one_of_three_or_more_moves_the_mean_by_a_small_multiple_of_the_longest_right_update(right, wrong, random):
    good = [SENT + np.array(row, np.float32) for row in right]
    vectors = [*good, np.array(wrong, np.float32)]
    random.shuffle(vectors)
    usual = max([update_norm(SENT, v) for v in good] + [2e-3])  # not less than a thousandth of the model
    with_it = combine(TWICE, SENT, used(vectors, judged(vectors)), [])
    bound = TWICE.clip_updates * usual
    assert np.linalg.norm(with_it - SENT.astype(np.float64)) <= bound * (1 + 1e-5)


@pytest.mark.parametrize("former", [(), (1.0, 1.0)])
def test_a_long_update_is_shortened_to_a_multiple_of_the_usual_norm(former: tuple[float, ...]) -> None:
    assert lengths(along(1.0, 1.0, 50.0), former=former) == pytest.approx([1.0, 1.0, 2.0], rel=1e-6)


def test_the_direction_stays() -> None:
    vector = SENT + np.array([3, 0, 4, 0], np.float32)
    np.testing.assert_allclose(shortened(SENT, vector, 0.5) - SENT, [1.5, 0, 2, 0], atol=1e-6)


def test_usual_updates_are_left_alone() -> None:
    assert judged(along(1.0, 1.5, 1.9)).factors == {}


def test_the_multiple_is_told() -> None:
    assert judged(along(1.0, 1.0, 50.0)).multiples.tolist() == pytest.approx([1.0, 1.0, 50.0])


def test_nothing_is_shortened_where_the_setting_is_zero() -> None:
    assert judged(along(1.0, 1.0, 50.0), TWICE.replace(clip_updates=0.0)).factors == {}


def test_of_two_the_smaller_norm_decides() -> None:
    assert lengths(along(1.0, 9.0)) == pytest.approx([1.0, 2.0], rel=1e-6)


def test_half_of_the_updates_cannot_raise_the_bound() -> None:
    assert lengths(along(1.0, 1.0, 9.0, 9.0)) == pytest.approx([1.0, 1.0, 2.0, 2.0], rel=1e-6)


def test_an_update_alone_is_held_against_former_rounds() -> None:
    assert lengths(along(9.0), former=(1.0, 1.1, 0.9)) == pytest.approx([2.0], rel=1e-6)


def test_the_first_update_alone_is_held_against_the_model() -> None:
    assert lengths(along(9.0)) == pytest.approx([2.0 * 0.1 * 2.0], rel=1e-6)


@pytest.mark.parametrize(("norm", "told"), [(1.0, 1.0), (3.0, 3.0), (9.0, 4.0)])
def test_an_update_alone_tells_later_rounds_its_norm_up_to_twice_the_usual(norm: float, told: float) -> None:
    assert judged(along(norm), former=(2.0,)).usual == pytest.approx(told)


def test_where_one_is_drawn_in_each_round_one_of_five_does_not_raise_the_bound() -> None:
    influence = Influence(TWICE)
    moved = []
    for i in range(60):
        vectors = along(0.19 if i % 5 == 0 else 0.01)
        moved += [update_norm(SENT, vector) for vector in used(vectors, judge(influence, vectors))]
    assert max(moved[:3]) == pytest.approx(0.19, rel=1e-6)  # less than a tenth of the model
    assert max(moved[3:]) == pytest.approx(2.0 * 0.01, rel=1e-3)


def test_a_round_full_of_long_updates_raises_the_bound_twofold_at_most() -> None:
    assert lengths(along(9.0, 9.0, 9.0), former=(1.0,)) == pytest.approx([4.0] * 3, rel=1e-6)


def test_a_round_of_short_updates_does_not_lower_it() -> None:
    assert judged(along(0.1, 0.1, 1.9), former=(1.0,)).factors == {}


def test_clients_that_have_nothing_to_learn_leave_the_others_a_share_of_the_model() -> None:
    assert lengths(along(0.0, 0.0, 0.19)) == pytest.approx([0.0, 0.0, 2.0 * 2e-3], rel=1e-3)


def test_the_last_twenty_rounds_count() -> None:
    influence = Influence(TWICE)
    influence.recall([1.0] * 30 + [None] + [5.0] * 20)
    assert judge(influence, along(9.0)).factors == {}


@pytest.mark.parametrize("kept", [(), (None, 1.0)])
def test_a_run_that_recalls_the_usual_norms_judges_as_one_that_went_on(kept: tuple[float | None, ...]) -> None:
    rounds = [along(1.0, 2.0, 3.0), along(4.0), along(0.5, 7.0, 6.0, 1.0)]
    whole = Influence(TWICE)
    whole.recall(kept)
    told = [judge(whole, v).usual for v in rounds]
    resumed = Influence(TWICE)
    resumed.recall([*kept, *told])
    last, again = (judge(i, along(90.0)) for i in (whole, resumed))
    assert last.factors[0] == again.factors[0]


@pytest.mark.parametrize("claimed", [10, 30, 10**8])
def test_more_samples_make_no_more_influence(claimed: int) -> None:
    settings = TWICE.replace(aggregation="samples")
    vectors, counts = along(0.0, 0.0, 50.0), [10, 10, claimed]
    vectors[0][1] += 1  # updates of norm 1 in other directions
    vectors[1][2] += 1
    judgement = judge(Influence(settings), vectors, counts)
    moved = combine(settings, SENT, used(vectors, judgement), counts) - SENT
    assert moved[0] <= 2.0 / 3.0 * (1 + 1e-6)


def test_a_small_client_has_no_longer_update_for_it() -> None:
    settings = TWICE.replace(aggregation="samples")
    judgement = judge(Influence(settings), along(1.0, 1.0, 50.0), [10, 10, 1])
    assert judgement.factors[2] * judgement.norms[2] == pytest.approx(2.0, rel=1e-6)


def test_an_update_is_measured_from_what_its_client_received() -> None:
    other = SENT + 5
    judgement = judge(Influence(TWICE), [*along(1.0, 1.0), other], sent=[SENT, SENT, other])
    assert judgement.norms.tolist() == [1.0, 1.0, 0.0]


def test_a_round_without_updates_is_judged_too() -> None:
    judgement = judged([])
    assert (len(judgement.norms), judgement.usual, judgement.refused, judgement.factors) == (0, None, (), {})


@pytest.mark.parametrize(
    ("norms", "refused"),
    [
        ([1.0, 2.0, 1.5, 500.0], (3,)),
        ([1.0, 90.0, 1.5], ()),
        ([1.0, 19.0], ()),
        ([0.0, 19.0], ()),  # beside one that has learned all it can: no more than ten times the model
        ([1.0, 990.0], (1,)),
        ([1.0, 1e30], (1,)),
        ([0.0, 0.0, 1.0], (2,)),
        ([1e5, 1e5, 1e5], (0, 1, 2)),
    ],
)
def test_updates_that_no_training_explains_are_refused(norms: list[float], refused: tuple[int, ...]) -> None:
    assert judged(along(*norms)).refused == refused


@pytest.mark.parametrize(
    ("norms", "former", "refused"),
    [
        ([990.0], (1.0, 2.0, 3.0), (0,)),
        ([150.0], (1.0, 2.0, 3.0), ()),
        ([150.0], (1e-3, 1.0, 900.0), (0,)),
        ([150.0, 150.0, 150.0], (1.0,), ()),
        ([250.0, 250.0, 250.0], (1.0,), (0, 1, 2)),
    ],
)
def test_former_rounds_count_in_refusals(
    norms: list[float], former: tuple[float, ...], refused: tuple[int, ...]
) -> None:
    assert judged(along(*norms), former=former).refused == refused


def test_a_refused_update_is_not_shortened() -> None:
    judgement = judged(along(1.0, 1.0, 500.0))
    assert (judgement.refused, judgement.factors) == ((2,), {})


NOISY = TWICE.replace(dp_noise=8.0, dp_clip=3.0)
EXPECTED = 3.0 * math.sqrt(1 + 64 * SIZE)


@pytest.mark.parametrize("n", [1, 2])
def test_few_updates_with_noise_are_held_against_the_norm_of_the_noise(n: int) -> None:
    vectors = along(*[1.9 * EXPECTED] * (n - 1), 2.1 * EXPECTED)
    assert lengths(vectors, NOISY) == pytest.approx([1.9 * EXPECTED] * (n - 1) + [2.0 * EXPECTED], rel=1e-6)


def test_updates_with_noise_are_held_against_each_other_and_not_against_former_rounds() -> None:
    vectors, former = along(30.0, 40.0, 50.0, 90.0), (1e-3,)
    assert lengths(vectors, NOISY, former) == pytest.approx([30.0, 40.0, 50.0, 80.0], rel=1e-6)
    assert judged(vectors, NOISY, former).usual is None
