"""Variants and objectives: gradients survive sampling, unseen classes, the ablation, combinations that cannot work."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp import gibbs
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.client_tree import ClientTree
from pfedgp_core.tree.objectives import tree_loss
from pfedgp_core.tree.variants.make import make_variant

CASES = [
    ("full", "predictive"),
    ("full", "marginal"),
    ("full", "loo"),
    ("ip-data", "predictive"),
    ("ip-compute", "predictive"),
    ("ip-compute", "marginal"),
    ("ip-compute", "loo"),
]


def data(n=24, k=3, d=5, seed=0, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    points = rng.normal(size=(k, d))[labels] + 0.5 * rng.normal(size=(n, d))
    return torch.from_numpy(points).to(dtype), torch.from_numpy(labels)


def loss_of(features, labels, inducing, settings, log_scales=None):
    kernel = make_kernel("rbf", *((8.0, 1.0) if log_scales is None else log_scales.exp()))
    client = ClientTree.build(features.detach(), labels, [0, 1, 2], None, Stream(0))
    points = client.points(features, inducing if settings.variant != "full" else None)
    return tree_loss(points, client.tree, make_variant(settings, kernel), settings, Stream(7), Counter())


@pytest.mark.parametrize(("variant", "objective"), CASES)
@pytest.mark.parametrize("per_class", [3, 20])
def test_gradient_is_that_of_the_loss_at_the_sampled_omega(variant, objective, per_class, monkeypatch):
    """Central differences with omega held at the draws of the unmoved features, as Fisher's identity asks."""
    settings = Settings(variant=variant, objective=objective, gp=GPSettings(train_chains=4, solver="dense"))
    features, labels = data()
    features.requires_grad_()
    inducing = torch.randn(
        3, per_class, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    ).requires_grad_()
    scales = torch.tensor([8.0, 1.0], dtype=torch.float64).log().requires_grad_()

    draws, replay = [], None
    original = gibbs.run_all

    def sample(*asked):
        if replay is not None:
            return next(replay)
        draws.append(original(*asked))
        return draws[-1]

    monkeypatch.setattr(gibbs, "run_all", sample)

    wanted = [features, scales] + ([inducing] if variant != "full" else [])
    loss = loss_of(features, labels, inducing, settings, scales)
    gradients = torch.autograd.grad(loss, wanted)
    generator = torch.Generator().manual_seed(2)
    for tensor, gradient in zip(wanted, gradients, strict=True):
        direction = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        values = []
        for sign in (1, -1):
            replay = iter(draws)
            with torch.no_grad():
                tensor.add_(sign * 1e-5 * direction)
                # The prototypes barely move, so the tree is the same.
                values.append(loss_of(features, labels, inducing, settings, scales).item())
                tensor.add_(-sign * 1e-5 * direction)
        expected = (values[0] - values[1]) / 2e-5
        assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(("variant", "objective"), CASES)
@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52", "linear"])
def test_every_combination_takes_a_finite_step(variant, objective, kernel):
    settings = Settings(
        variant=variant, objective=objective, network="mlp", feature_dim=6, inducing_per_class=4,
        gp=GPSettings(kernel=kernel, learn_scales=True),
    )  # fmt: skip
    shared = SharedState.initial(settings, (5,), 4)
    before = shared.to_vector()
    features, labels = data(dtype=torch.float32)
    assert local_update(shared, TensorSplit(features, labels), settings, Stream(0)).status == "ok"
    after = shared.to_vector()
    assert np.isfinite(after).all()
    assert (after != before).any()
    if variant != "full":
        # The class that this client lacks (3) is touched by weight decay only.
        moved = shared.inducing.detach() - SharedState.initial(settings, (5,), 4).inducing.detach()
        assert moved[3].abs().max() < moved[:3].abs().max() or variant == "ip-compute"


@pytest.mark.parametrize("variant", ["ip-data", "ip-compute"])
def test_classes_without_data_are_represented_by_their_inducing_inputs(variant):
    features, labels = data(n=60, k=3, seed=4)
    seen = labels < 2
    inducing = torch.stack([features[labels == c][:10] for c in range(3)])
    settings = Settings(variant=variant, classes="all", gp=GPSettings(predict_chains=100))
    classifier = PersonalClassifier(settings, Stream(0), inducing).fit(features[seen], labels[seen])
    probabilities = classifier.predict_proba(features)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert probabilities.shape == (60, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    unseen = probabilities[(labels == 2).numpy(), 2].mean()
    assert unseen > 3 * probabilities[(labels != 2).numpy(), 2].mean()


def test_without_personal_data_only_inducing_inputs_are_used():
    features, labels = data(n=40, k=2)
    inducing = torch.stack([features[labels == c][:10] for c in range(2)])
    kept = {}
    for personal in (True, False):
        settings = Settings(variant="ip-data", personal_data=personal)
        classifier = PersonalClassifier(settings, Stream(0), inducing).fit(features, labels)
        kept[personal] = len(classifier.nodes_[0][0].gp.inputs)
    assert kept == {True: 60, False: 20}


def test_class_balancing_moves_probabilities_towards_the_classes_that_the_client_has_most_of():
    features, labels = data(n=40, k=2)
    rows = torch.cat([torch.nonzero(labels == 0)[:, 0], torch.nonzero(labels == 1)[:4, 0]])
    inducing = torch.stack([features[labels == c][:10] for c in range(2)])
    rare, losses = {}, {}
    for balanced in (True, False):
        settings = Settings(variant="ip-data", personal_data=False, class_balancing=balanced)
        classifier = PersonalClassifier(settings, Stream(0), inducing).fit(features[rows], labels[rows])
        rare[balanced] = classifier.predict_proba(features)[:, 1].mean()
        losses[balanced] = float(loss_of(*data(), torch.stack([features[:10]] * 3), settings))
    assert rare[True] < rare[False]
    assert losses[True] != losses[False]


@pytest.mark.parametrize(
    "combination",
    [
        {"variant": "ip-data", "objective": "marginal"},
        {"variant": "ip-data", "objective": "loo"},
        {"task": "regression", "dataset": "diabetes", "objective": "loo"},
        {"variant": "full", "classes": "all"},
        {"variant": "full", "personal_data": False},
        {"min_results": 6},
        {"clients_per_round": 21},
    ],
)
def test_combinations_that_cannot_work_are_refused(combination):
    with pytest.raises(ConfigError, match=r"set |lower "):
        Settings(**combination)


def test_a_variant_without_its_inducing_inputs_is_refused():
    with pytest.raises(ConfigError, match="needs inducing inputs"):
        PersonalClassifier(Settings(variant="ip-data"))


@pytest.mark.parametrize("variant", ["ip-data", "ip-compute"])
def test_float64_features_go_with_a_float32_model(variant):
    features, labels = data(n=40, k=2)
    inducing = torch.stack([features[labels == c][:5] for c in range(2)]).float()
    classifier = PersonalClassifier(Settings(variant=variant), Stream(0), inducing).fit(features, labels)
    np.testing.assert_allclose(classifier.predict_proba(features).sum(1), 1)
