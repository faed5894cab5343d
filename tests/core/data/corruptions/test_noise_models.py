"""Noise models: 57 of them, who gets which, and how a plan is written."""

from collections import Counter

import pytest

from pfedgp_core.data.corruptions.noise_models import NoiseModel, NoisePlan, assigned, noise_models


def test_there_are_57() -> None:
    assert len(set(noise_models())) == 57


def test_severities_are_three_to_five() -> None:
    assert {model.severity for model in noise_models()} == {3, 4, 5}


def test_all_come_once_before_any_comes_twice() -> None:
    assert set(assigned(57, 0, "imagenet-c").models) == set(noise_models())


def test_a_hundred_clients_see_all_of_them() -> None:
    counts = Counter(assigned(100, 0, "imagenet-c").models)
    assert (len(counts), sum(counts.values())) == (57, 100)


def test_few_clients_have_different_ones() -> None:
    assert len(set(assigned(20, 4, "imagenet-c").models)) == 20


def test_the_seed_decides() -> None:
    assert assigned(30, 1, "imagenet-c") == assigned(30, 1, "imagenet-c") != assigned(30, 2, "imagenet-c")


def test_a_plan_reads_as_it_was_written() -> None:
    plan = assigned(60, 2**63 - 1, "cifar-10-c")
    assert NoisePlan.of(plan.content(), 60) == plan


def test_a_model_is_written_with_its_severity() -> None:
    assert str(NoiseModel("snow", 4)) == "snow-4"


@pytest.mark.parametrize("text", ["snow", "snow-6", "rain-3", "snow-44", "", "snow-0"])
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no noise model"):
        NoiseModel.of(text)


@pytest.mark.parametrize("change", [{"parameters": "kodak"}, {"models": ["snow-4"] * 3}])
def test_a_plan_that_does_not_fit_is_refused(change: dict) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        NoisePlan.of(assigned(2, 0, "imagenet-c").content() | change, 2)
