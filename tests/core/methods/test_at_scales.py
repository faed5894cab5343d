"""What a client tells of its data at every output scale."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.methods.at_scales import chooses_scale, scale_evidence
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import make_method
from pfedgp_core.metrics.likelihood import tempered_log_likelihoods
from pfedgp_core.metrics.output_scale import SCALES, ScaleSums, with_scale
from pfedgp_core.numerics.streams import Stream

SETTINGS = Settings(network="mlp", gp=GPSettings(predict_chains=4, choose_scale=True))
SHAPE = (5,)


def method(settings: Settings = SETTINGS) -> Method:
    return make_method(settings, SHAPE, 3)


def split(*labels: int) -> TensorSplit:
    rng = np.random.default_rng(len(labels))
    inputs = rng.normal(size=(len(labels), *SHAPE)) + np.array(labels, float).reshape(-1, 1)
    return TensorSplit(torch.tensor(inputs, dtype=torch.float32), torch.tensor(labels, dtype=torch.int64))


def client(train: TensorSplit, validation: TensorSplit) -> ClientData:
    return ClientData("a", ("x", "y", "z"), train, validation, split())


def told(data: ClientData, left_out: bool = True, of: Method | None = None):  # type: ignore[no-untyped-def]
    of = of or method()
    return scale_evidence(of, of.initial(), None, data, Stream(3, "scales"), left_out)


@pytest.mark.parametrize("name", ["pfedgp", "whitened"])
def test_the_sums_are_those_of_the_classifier_at_each_scale(name: str) -> None:
    settings = SETTINGS.replace(method=name)
    data = client(split(0, 0, 1, 1, 2, 2, 0), split(0, 1, 2, 1))
    found = told(data, of=method(settings))
    assert (found.left_out.n, found.validation.n) == (7, 4)
    for k, scale in enumerate(SCALES):
        own = method(with_scale(settings, scale))
        predictor = own.personal(own.initial(), None, data.train, Stream(3, "scales"))
        logs = np.log(predictor.predict_proba(data.validation.inputs))
        expected = tempered_log_likelihoods(logs, data.validation.labels.numpy(), [1.0])[0]
        assert found.validation.values[k] == pytest.approx(expected, abs=1e-12)
        logs = predictor.leave_one_out_log_proba()  # type: ignore[attr-defined]
        expected = tempered_log_likelihoods(logs, data.train.labels.numpy(), [1.0])[0]
        assert found.left_out.values[k] == pytest.approx(expected, abs=1e-12)
    assert len(set(found.left_out.values)) == len(SCALES)


def test_training_data_are_left_out_only_where_they_are_asked_for() -> None:
    found = told(client(split(0, 1, 1), split(0, 1)), left_out=False)
    assert found.left_out == ScaleSums()
    assert found.validation.n == 2


def test_a_class_that_the_client_has_not_trained_on_costs_the_same_at_every_scale() -> None:
    found = told(client(split(0, 0, 1, 1), split(2)))
    assert found.validation.values == (pytest.approx(np.log(1e-12)),) * len(SCALES)


@pytest.mark.parametrize("labels", [(0,), (1, 1), (0, 1), (0, 1, 2)])
def test_a_site_whose_samples_say_little_has_finite_sums(labels: tuple[int, ...]) -> None:
    found = told(client(split(*labels), split()))
    assert found.validation == ScaleSums()
    assert found.left_out.n == len(labels)
    assert np.isfinite(found.left_out.values).all()
    if len(set(labels)) == 1:
        assert set(found.left_out.values) == {0.0}


def test_a_client_without_training_data_sends_nothing() -> None:
    assert told(client(split(), split(0, 1))).validation == ScaleSums()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"method": "whitened"}, True),
        ({"method": "class-mean"}, False),
        ({"method": "local"}, False),
        ({"method": "fedavg"}, False),
        ({"variant": "ip-data"}, False),
        ({"gp": GPSettings(choose_scale=True, learn_scales=True)}, False),
        ({"gp": GPSettings(choose_scale=True, prior_mean="head")}, False),
        ({"gp": GPSettings(choose_scale=False)}, False),
    ],
)
def test_which_runs_choose(change: dict[str, object], expected: bool) -> None:
    assert chooses_scale(method(SETTINGS.replace(**change))) is expected
