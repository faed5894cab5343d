"""Methods beside FedAvg whose server holds one network: what they have in common with it in their limits."""

import numpy as np
import pytest
import torch

from pfedgp_core.errors import ConfigError
from pfedgp_core.methods.base import Upload
from pfedgp_core.methods.make import find_method
from pfedgp_core.numerics.streams import Stream
from tests.core.methods.small_federation import CLASSES, data, method_of, rounds, same, settings_of, updated

PLAIN = {"momentum": 0.0, "weight-decay": 0.0}
FORMS = ("fo", "hf", "exact")


def final(method: str, **more: object) -> np.ndarray:
    return rounds(method_of(method, **more), ["a", "b"], 2)[0]


def probabilities(method: str, **more: object) -> np.ndarray:
    """Of client ``a`` after two rounds."""
    made = method_of(method, **more)
    state, _ = rounds(made, ["a", "b"], 2)
    return made.personal(state, None, data(0), Stream(0, "evaluate", "a")).predict_proba(data(9).inputs)


def test_fedprox_without_a_pull_is_fedavg_to_the_bit() -> None:
    assert same(final("fedprox", **{"fedprox.mu": 0.0}), final("fedavg"))


def test_a_pull_of_fedprox_keeps_clients_near_their_start() -> None:
    start = method_of("fedavg").initial()
    far, near = (np.linalg.norm(final("fedprox", **{"fedprox.mu": mu}) - start) for mu in (0.0, 10.0))
    assert near < 0.5 * far


@pytest.mark.parametrize("form", FORMS)
def test_per_fedavg_without_an_inner_step_is_fedavg_to_the_bit(form: str) -> None:
    assert same(final("per-fedavg", **{"per-fedavg.alpha": 0.0, "per-fedavg.form": form}), final("fedavg"))


def test_per_fedavg_predicts_after_one_step_on_the_training_data() -> None:
    method = method_of("per-fedavg", **{"per-fedavg.alpha": 0.3})
    state = method.initial()
    moved = method_of("fedavg", **{"learning-rate": 0.3, "local-steps": 1, "batch-size": 12}, **PLAIN)
    after = updated(moved, state).upload
    plain = moved.personal(after, None, data(0), Stream(0, "evaluate", "a")).predict_proba(data(9).inputs)
    tuned = method.personal(state, None, data(0), Stream(0, "evaluate", "a")).predict_proba(data(9).inputs)
    np.testing.assert_allclose(tuned, plain, atol=1e-6)


def test_pfedme_with_one_batch_and_one_inner_step_is_fedavg() -> None:
    limit = {"pfedme.lambda": 4.0, "pfedme.inner-steps": 1, "pfedme.personal-rate": 0.25, "local-steps": 1}
    np.testing.assert_allclose(final("pfedme", **limit), final("fedavg", **{"local-steps": 1}, **PLAIN), atol=1e-6)


@pytest.mark.parametrize("key", ["pfedme.beta", "pfedme.lambda"])
def test_pfedme_without_a_step_or_a_pull_leaves_the_server_as_it_was(key: str) -> None:
    np.testing.assert_allclose(final("pfedme", **{key: 0.0}), method_of("pfedme").initial(), atol=1e-7)


def test_pfedme_sends_w_and_predicts_with_theta() -> None:
    method = method_of("pfedme")
    upload = updated(method).upload
    method.personal(method.initial(), None, data(0), Stream(0, "train", 1, "a"))
    theta = method.split.vectors()[0]
    assert np.linalg.norm(theta - upload) > 0.01 * np.linalg.norm(upload - method.initial())


def test_pfedme_steps_that_diverge_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"personal-rate = 0\.2 diverges with pfedme\.lambda = 15: give less than 0\.133"
    ):
        find_method(settings_of("pfedme", **{"pfedme.personal-rate": 0.2}))


def fola_uploads(method, precision: float) -> list[Upload]:
    size = len(method.initial()) // 2
    means = [np.full(size, value, np.float32) for value in (1.0, 4.0)]
    vectors = [np.concatenate([mean, np.full(size, precision, np.float32)]) for mean in means]
    return [Upload(name, v, method.initial(), 12) for name, v in zip("ab", vectors, strict=True)]


def test_fola_of_equal_precisions_is_the_mean() -> None:
    method = method_of("fola")
    following = method.step(method.initial(), fola_uploads(method, 1.0))
    np.testing.assert_allclose(following[: len(following) // 2], 2.5, rtol=1e-6)
    assert following[-1] == 2


def test_fola_without_a_prior_trains_like_fedavg_to_the_bit() -> None:
    upload = updated(method_of("fola", **{"fola.lambda": 0.0})).upload
    assert same(upload[: len(upload) // 2], updated(method_of("fedavg", **PLAIN)).upload)


def test_a_precision_below_the_one_received_does_not_count() -> None:
    method = method_of("fola")
    assert (method.step(method.initial(), fola_uploads(method, -9.0))[:-1] >= 0).all()


@pytest.mark.parametrize("aggregation", ["median", "trimmed-mean"])
def test_fola_has_no_other_averages(aggregation: str) -> None:
    settings = settings_of("fola", aggregation=aggregation, **{"trim-share": 0.2})
    with pytest.raises(ConfigError, match=rf"aggregation = '{aggregation}' does not go with method = 'fola'"):
        find_method(settings)


def test_no_tuning_is_fedavg() -> None:
    assert same(probabilities("fedavg-tuned", **{"fedavg-tuned.epochs": 0}), probabilities("fedavg"))


@pytest.mark.parametrize("layers", ["head", "all"])
def test_tuning_fits_the_client_and_leaves_the_server_alone(layers: str) -> None:
    method = method_of("fedavg-tuned", **{"fedavg-tuned.layers": layers, "fedavg-tuned.epochs": 40})
    state, _ = rounds(method, ["a", "b"], 2)
    tuned = method.personal(state, None, data(0), Stream(0, "evaluate", "a")).predict_proba(data(0).inputs)
    before = method_of("fedavg").personal(state, None, data(0), Stream(0, "e")).predict_proba(data(0).inputs)
    right = np.arange(12), data(0).labels.numpy()
    assert np.log(tuned[right]).mean() > np.log(before[right]).mean() + 0.1
    assert same(state, final("fedavg"))


def test_tuning_the_head_leaves_the_features() -> None:
    method = method_of("fedavg-tuned")
    state = method.initial()
    method.personal(state, None, data(0), Stream(0, "evaluate", "a"))
    head = 8 * CLASSES + CLASSES
    assert same(method.split.vectors()[0][:-head], state[:-head])
    assert not same(method.split.vectors()[0][-head:], state[-head:])


def test_no_neighbours_is_fedavg() -> None:
    assert same(probabilities("knn-per", **{"knn-per.weight": 0.0}), probabilities("fedavg"))


def test_neighbours_alone_know_the_training_samples() -> None:
    method = method_of("knn-per", **{"knn-per.weight": 1.0, "knn-per.neighbours": 1})
    predictor = method.personal(method.initial(), None, data(0), Stream(0, "evaluate", "a"))
    assert predictor.predict_proba(data(0).inputs).argmax(1).tolist() == data(0).labels.tolist()


@pytest.mark.parametrize(("method", "each"), [("fedavg", 1), ("pfedme", 5), ("per-fedavg", 2), ("fedprox", 1)])
def test_gradients_of_an_update_are_counted(method: str, each: int) -> None:
    assert updated(method_of(method)).result.gradients == 7 * each


def test_training_in_an_evaluation_has_its_seconds() -> None:
    method = method_of("pfedme")
    predictor = method.personal(method.initial(), None, data(0), Stream(0, "evaluate", "a"))
    assert set(predictor.seconds_) == {"network"}
    assert torch.equal(torch.from_numpy(predictor.classes_), torch.arange(CLASSES))
