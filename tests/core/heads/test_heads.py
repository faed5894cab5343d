"""Heads: what each task of the registry holds in the shared model, trains and measures."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.heads.base import Head
from pfedgp_core.heads.classification import class_calibration, class_columns
from pfedgp_core.heads.make import make_head
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import TASKS, VARIANTS

PAIRS = [(task, variant) for variant, each in VARIANTS.items() for task in each.tasks]
LABELS = {"classification": torch.tensor([0, 1] * 6), "regression": torch.linspace(0.0, 1.0, 12).double()}


def shared(task: str, variant: str) -> tuple[Head, SharedState]:
    settings = Settings(task=task, variant=variant, inducing_per_class=3, network="mlp", feature_dim=4)
    return make_head(settings), SharedState.initial(settings, (5,), 2)


@pytest.fixture
def features() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(12, 4))).float()


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_made_by_its_name(task: str) -> None:
    assert isinstance(make_head(Settings(task=task)), Head)


@pytest.mark.parametrize("task", TASKS)
def test_no_sums_are_over_no_sample(task: str) -> None:
    assert make_head(Settings(task=task)).no_sums().n == 0


@pytest.mark.parametrize(("task", "variant"), PAIRS)
def test_the_shared_model_holds_inducing_inputs_where_the_variant_needs_them(task: str, variant: str) -> None:
    assert (shared(task, variant)[1].inducing is not None) == VARIANTS[variant].needs_inducing


@pytest.mark.parametrize(("task", "variant"), PAIRS)
def test_there_are_as_many_sets_of_inducing_inputs_as_the_head_says(task: str, variant: str) -> None:
    head, state = shared(task, variant)
    assert state.inducing is None or len(state.inducing) == head.inducing_sets(2)


@pytest.mark.parametrize(("task", "variant"), PAIRS)
def test_the_loss_reaches_the_features(task: str, variant: str, features: torch.Tensor) -> None:
    head, state = shared(task, variant)
    features.requires_grad_()
    loss = head.training(state, LABELS[task], Stream(0), Counter()).loss(features, 0)
    assert loss is not None
    (gradient,) = torch.autograd.grad(loss, features)
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize(("task", "variant"), PAIRS)
def test_the_personal_model_is_measured_on_every_sample(task: str, variant: str, features: torch.Tensor) -> None:
    head, state = shared(task, variant)
    personal = head.personal(state, Stream(0))
    personal.fit(features, LABELS[task])
    assert personal.sums(personal.predict(features), LABELS[task]).n == len(features)


@pytest.mark.parametrize(("task", "variant"), PAIRS)
def test_the_same_stream_gives_the_same_sums(task: str, variant: str, features: torch.Tensor) -> None:
    head, state = shared(task, variant)
    both = []
    for _ in range(2):
        personal = head.personal(state, Stream(3))
        personal.fit(features, LABELS[task])
        both.append(personal.sums(personal.predict(features), LABELS[task]))
    assert both[0] == both[1]


def test_a_single_class_is_nothing_to_learn_from() -> None:
    head, state = shared("classification", "full")
    assert not head.training(state, torch.zeros(5, dtype=torch.int64), Stream(0), Counter()).learnable


def test_equal_targets_are_something_to_learn_from() -> None:
    head, state = shared("regression", "full")
    assert head.training(state, torch.zeros(5).double(), Stream(0), Counter()).learnable


def test_columns_of_labels_that_a_classifier_never_saw() -> None:
    columns = class_columns(np.array([2, 5]), torch.tensor([5, 3, 2, 9]))
    assert columns.tolist() == [1, -1, 0, -1]


def test_calibration_without_validation_samples() -> None:
    test = (np.array([[0.9, 0.1]]), torch.tensor([1]))
    sums = class_calibration(np.array([0, 1]), test, None)
    assert {each.n for each in sums.validation} == {0}


def test_a_regression_has_no_temperature() -> None:
    assert not make_head(Settings(task="regression")).calibrates
