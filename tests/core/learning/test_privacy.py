"""Differential privacy: the clip, the noise, what is told beside it, and the epsilon."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import kstest, norm

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, NonFiniteError
from pfedgp_core.learning import privacy
from pfedgp_core.learning.privacy import clipped_and_noised, private_update, require_accountant, secure_normal, spent
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.wire.names import STATUSES

PRIVATE = Settings(dp_noise=2.0, dp_clip=3.0)
ANY = st.floats(-(2.0**100), 2.0**100, width=32)


def no_noise(size: int) -> np.ndarray:
    return np.zeros(size)


def vector(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def test_noise_is_standard_normal_and_never_the_same() -> None:
    noise = secure_normal(200_001)
    assert noise.shape == (200_001,)
    assert noise.dtype == np.float64
    # Bounds of more than six deviations of each statistic.
    assert abs(noise.mean()) < 0.015
    assert abs(noise.std() - 1) < 0.01
    assert abs((noise**3).mean()) < 0.04
    assert abs((noise**4).mean() - 3) < 0.15
    assert kstest(noise, "norm").pvalue > 1e-9
    half = len(noise) // 2
    assert abs(np.corrcoef(noise[:half], noise[half : 2 * half])[0, 1]) < 0.02  # the two of a pair
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.015
    assert not np.array_equal(noise, secure_normal(200_001))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 16, 17])
def test_every_length_is_filled(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy, "BLOCK", 4)
    noise = secure_normal(size)
    assert noise.shape == (size,)
    assert np.isfinite(noise).all()
    assert len(set(noise)) == size


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_the_ends_of_the_generator_are_finite(byte: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy.os, "urandom", lambda n: byte * n)
    noise = secure_normal(4)
    assert np.isfinite(noise).all()
    assert np.abs(noise).max() < 9


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=9), st.floats(1e-3, 1e6))
def test_an_update_is_never_longer_than_the_clip(pairs: list, clip: float) -> None:
    sent, updated = (np.array(values, dtype=np.float32) for values in zip(*pairs, strict=True))
    zero = np.zeros_like(sent)
    delta = clipped_and_noised(zero, updated, clip, 0.0, no_noise).astype(np.float64)
    assert np.linalg.norm(delta) <= clip * (1 + 1e-6)
    if np.linalg.norm(updated.astype(np.float64)) <= clip:
        assert np.array_equal(delta, updated)
    assert np.isfinite(clipped_and_noised(sent, updated, clip, 0.0, no_noise)).all()


def test_the_clip_keeps_the_direction() -> None:
    got = clipped_and_noised(vector(1, 1, 1), vector(31, 41, 1), 5.0, 0.0, no_noise)
    np.testing.assert_allclose(got, [4, 5, 1])


@pytest.mark.parametrize("size", [1, 500_000])
def test_a_zero_update_is_noised_like_any_other(size: int) -> None:
    sent = np.full(size, 0.5, dtype=np.float32)
    got = clipped_and_noised(sent, sent, 3.0, 6.0)
    assert got.dtype == np.float32
    assert (got != sent).all()
    if size > 1:
        assert abs(np.std(got - sent) / 6.0 - 1) < 0.01


def test_clip_and_noise_add_up() -> None:
    sent = np.zeros(400_000, dtype=np.float32)
    got = clipped_and_noised(sent, sent + 100, 3.0, 6.0).astype(np.float64)
    # The clipped update is 3 / sqrt(P) everywhere, far below the noise of one value.
    assert np.linalg.norm(got) == pytest.approx(6.0 * math.sqrt(len(got)), rel=0.01)
    assert got.sum() / math.sqrt(len(got)) == pytest.approx(3.0, abs=6.0 * 6.5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_update_that_is_not_finite_is_not_sent(value: float) -> None:
    with pytest.raises(NonFiniteError, match="neither clipped nor sent"):
        clipped_and_noised(vector(0, 0), vector(1, value), 1.0, 1.0)


def test_the_largest_floats_are_clipped() -> None:
    big = 3.4e38
    got = clipped_and_noised(vector(-1, 0), vector(big, -big), 1.0, 0.0, no_noise)
    np.testing.assert_allclose(got, [-1 + math.sqrt(0.5), -math.sqrt(0.5)], rtol=1e-6)


def test_noise_beyond_float32_is_refused() -> None:
    with pytest.raises(NonFiniteError, match="lower dp-noise"):
        clipped_and_noised(vector(3.4e38), vector(3.4e38), 1.0, 1e38, lambda n: np.full(n, 5.0))


def test_results_do_not_leave_with_a_noised_update() -> None:
    result = UpdateResult("ok", 1.25, 2, Counter(step_skipped=1), {"gp": 0.1})
    settings = PRIVATE.replace(local_epochs=3)
    told, sent = private_update(settings, result, vector(0, 0), vector(1, 1))
    assert (told.status, told.loss, told.steps, told.counters) == ("ok", None, 3, {})
    assert told.seconds == result.seconds
    assert result.loss == 1.25
    assert not np.array_equal(sent, vector(1, 1))


def test_an_update_without_a_step_looks_like_any_other() -> None:
    assert set(privacy.TRAINED) <= set(STATUSES)
    skipped, _ = private_update(PRIVATE, UpdateResult("no-step", None, 0), vector(0), vector(0))
    done, _ = private_update(PRIVATE, UpdateResult("ok", 0.5, 1), vector(0), vector(1))
    assert skipped == done


@pytest.mark.parametrize("status", ["no-data", "single-class"])
def test_a_client_that_cannot_train_sends_no_update(status: str) -> None:
    result, sent = UpdateResult(status), vector(1)
    assert private_update(PRIVATE, result, sent, sent)[0] is result


def test_without_noise_nothing_changes() -> None:
    result, updated = UpdateResult("ok", 1.25, 2), vector(100)
    got = private_update(Settings(dp_clip=1.0), result, vector(0), updated)
    assert got[0] is result
    assert got[1] is updated


def exact_epsilon(distance: float, delta: float) -> float:
    """Epsilon of two Gaussians of deviation 1 at a distance (Balle and Wang 2018, theorem 8)."""

    def excess(epsilon: float) -> float:
        first = norm.cdf(distance / 2 - epsilon / distance)
        return first - math.exp(epsilon + norm.logcdf(-distance / 2 - epsilon / distance)) - delta

    return brentq(excess, 0.0, distance * (distance / 2 + 40), xtol=1e-10)


@pytest.mark.parametrize(("noise", "delta"), [(2.0, 1e-5), (8.0, 1e-5), (1.0, 1e-9), (20.0, 1e-3)])
def test_epsilon_of_one_update_in_closed_form(noise: float, delta: float) -> None:
    settings = Settings(dp_noise=noise, dp_clip=7.0, dp_delta=delta)
    # Two data sets may put the clipped update 2 * clip apart.
    assert spent(settings, 1) == pytest.approx(exact_epsilon(2 / noise, delta), rel=1e-6)


def test_epsilon_of_many_updates_agrees_with_another_accountant() -> None:
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(4.0), 10))
    wanted = accountant.get_epsilon(1e-5)
    assert spent(Settings(dp_noise=8.0), 10) == pytest.approx(wanted, rel=1e-3)


def test_epsilon_grows_with_rounds_and_falls_with_noise() -> None:
    by_rounds = [spent(PRIVATE, rounds) for rounds in (0, 1, 2, 5, 60, 10_000)]
    assert by_rounds[0] == 0.0
    assert by_rounds == sorted(set(by_rounds))
    by_noise = [spent(Settings(dp_noise=noise), 10) for noise in (0.01, 0.5, 1.0, 4.0, 100.0)]
    assert by_noise == sorted(set(by_noise), reverse=True)
    assert math.isfinite(by_noise[0])
    assert spent(PRIVATE.replace(dp_clip=100.0), 5) == spent(PRIVATE, 5)
    assert spent(PRIVATE.replace(dp_delta=1e-9), 5) > spent(PRIVATE, 5)


def test_without_noise_there_is_no_guarantee() -> None:
    assert spent(Settings(), 1) == math.inf
    assert spent(Settings(), 0) == 0.0


def test_a_missing_accountant_is_named_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    require_accountant(PRIVATE)
    monkeypatch.setattr(privacy, "ACCOUNTANT", "no_such_package")
    require_accountant(Settings())
    for check in (require_accountant, lambda settings: spent(settings, 1)):
        with pytest.raises(ConfigError, match=r"pip install 'pfedgp\[privacy\]'"):
            check(PRIVATE)


def test_the_command_line_checks_for_the_accountant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(privacy, "ACCOUNTANT", "no_such_package")
    assert main(["simulate", "--set", "dp-noise=1.0", "--out", str(tmp_path / "run")]) == 2
    assert "pip install 'pfedgp[privacy]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_what_a_client_trains_for_itself_is_not_told() -> None:
    result = UpdateResult("personal", 1.25, 20, Counter(step_skipped=1), {"network": 0.1})
    told, _ = private_update(PRIVATE, result, vector(1), vector(1))
    assert (told.loss, told.steps, told.counters) == (None, 0, Counter())
    assert told.status == "personal"
