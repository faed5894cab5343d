"""What every registered method promises: the same answers to the same questions, and states that go round."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.errors import DataError
from pfedgp_core.methods.base import Method, Update, Upload
from pfedgp_core.methods.make import make_method
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import METHODS
from pfedgp_core.wire.names import OK, PERSONAL

ALL = pytest.mark.parametrize("name", list(METHODS))
CLIENTS = 5
# Small, so that the whole contract takes seconds; a method's own settings may shorten it further.
SETTINGS = {
    "clients": CLIENTS,
    "clients-per-round": CLIENTS,
    "feature-dim": 16,
    "local-steps": 10,
    "local.epochs": 10,
    "fedrep.head-epochs": 2,
    "fedbabu.epochs": 2,
    "pfedhn.hidden": 16,
    "pfedme.inner-steps": 2,
}


def settings_of(name: str) -> Settings:
    return Settings.from_run_config(SETTINGS | {"method": name})


def method_of(name: str) -> Method:
    return make_method(settings_of(name), (1, 8, 8), 10)


@cache
def data_of(client: int) -> ClientData:
    return simulated_client(settings_of("pfedgp").replace(clients=20), client)


def stream(*path: int | str) -> Stream:
    return Stream(0, *path)


def empty() -> TensorSplit:
    return TensorSplit(torch.zeros(0, 1, 8, 8), torch.zeros(0, dtype=torch.int64))


class Rounds:
    """A federation without a network: all clients in every round."""

    def __init__(self, name: str) -> None:
        self.method = method_of(name)
        self.state = self.method.initial()
        self.kept: dict[int, np.ndarray | None] = dict.fromkeys(range(CLIENTS))

    def train(self, rounds: range) -> "Rounds":
        """Run some rounds."""
        for t in rounds:
            uploads = list(self._uploads(t))
            if uploads:
                self.state = self.method.step(self.state, uploads)
        return self

    def _uploads(self, t: int) -> Iterator[Upload]:
        for client in range(CLIENTS):
            received = self.method.download(self.state, f"c{client}")
            train = data_of(client).train
            update = self.method.update(received, self.kept[client], train, stream("train", t, f"c{client}"))
            if update.keep is not None:
                self.kept[client] = update.keep
            if update.upload is not None:
                yield Upload(f"c{client}", update.upload, received, len(train.labels))

    def accuracy(self) -> float:
        """Pooled over all clients' test data."""
        sums = [
            self.method.evaluate(
                self.method.download(self.state, f"c{i}"), self.kept[i], data_of(i), "test", stream("evaluate", f"c{i}")
            ).sums
            for i in range(CLIENTS)
        ]
        return sum(s.correct for s in sums) / sum(s.n for s in sums)


def first_update(name: str) -> Update:
    method = method_of(name)
    return method.update(method.download(method.initial(), "c0"), None, data_of(0).train, stream("train", 1, "c0"))


@ALL
def test_the_first_state_follows_from_the_settings(name: str) -> None:
    assert method_of(name).initial().dtype == np.float32
    assert method_of(name).initial().tobytes() == method_of(name).initial().tobytes()


@ALL
def test_an_update_follows_from_its_arguments(name: str) -> None:
    first, again = first_update(name), first_update(name)
    for one, other in ((first.upload, again.upload), (first.keep, again.keep)):
        assert (one is None) == (other is None)
        assert one is None or one.tobytes() == other.tobytes()


@ALL
def test_an_upload_is_said_to_be_one_and_has_its_size(name: str) -> None:
    update = first_update(name)
    assert (update.upload is not None) == (update.result.status == OK)
    assert update.result.status in (OK, PERSONAL)
    assert (0 if update.upload is None else update.upload.size) == method_of(name).upload_size


@ALL
def test_only_methods_that_say_so_keep_a_state(name: str) -> None:
    assert (first_update(name).keep is not None) == method_of(name).keeps


@ALL
def test_without_data_there_is_no_update(name: str) -> None:
    method = method_of(name)
    update = method.update(method.download(method.initial(), "c0"), None, empty(), stream("train", 1, "c0"))
    assert update.upload is None
    assert update.keep is None
    assert update.result.status == "no-data"


@ALL
@pytest.mark.parametrize("split", ["validation", "test"])
def test_without_data_nothing_is_measured(name: str, split: str) -> None:
    method, data = method_of(name), data_of(0)
    without = ClientData(data.name, data.class_names, empty(), data.validation, data.test, data.mean, data.std)
    received = method.download(method.initial(), "c0")
    assert method.evaluate(received, None, without, split, stream("evaluate", "c0")).sums.n == 0


@ALL
def test_a_predictor_gives_probabilities_of_its_classes(name: str) -> None:
    method, data = method_of(name), data_of(0)
    update = first_update(name)
    state = method.initial()
    if update.upload is not None:
        state = method.step(state, [Upload("c0", update.upload, method.download(state, "c0"), 10)])
    received = method.download(state, "c0")
    predictor = method.personal(received, update.keep, data.train, stream("evaluate", "c0"))
    probabilities = predictor.predict_proba(data.test.inputs)
    assert probabilities.shape == (len(data.test.labels), len(predictor.classes_))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)
    assert set(data.train.labels.tolist()) <= set(predictor.classes_.tolist())


@ALL
def test_a_vector_of_another_model_is_refused(name: str) -> None:
    method = method_of(name)
    wrong = np.zeros(method.download(method.initial(), "c0").size + 1, np.float32)
    if not method.upload_size:
        pytest.skip("nothing travels")
    with pytest.raises(DataError, match=r"values where this model has"):
        method.update(wrong, None, data_of(0).train, stream("train", 1, "c0"))


@cache
def trained(name: str) -> tuple[Rounds, Rounds]:
    """A run of some rounds, and what there was of it two rounds before its end."""
    run = Rounds(name).train(range(1, 11))
    before = Rounds(name)  # another process: only the state and what clients kept are left
    before.state, before.kept = run.state.copy(), {i: None if k is None else k.copy() for i, k in run.kept.items()}
    return run.train(range(11, 13)), before


@pytest.mark.slow
@ALL
def test_a_run_that_is_cut_off_goes_on_to_the_same_bits(name: str) -> None:
    whole, resumed = trained(name)
    resumed.train(range(11, 13))
    assert resumed.state.tobytes() == whole.state.tobytes()
    for i in range(CLIENTS):
        assert (resumed.kept[i] is None) == (whole.kept[i] is None)
        assert whole.kept[i] is None or resumed.kept[i].tobytes() == whole.kept[i].tobytes()


@ALL
def test_it_learns_the_digits(name: str) -> None:
    # A guess is right one time in ten; one network for all, from clients of two classes each, needs longer than this.
    assert trained(name)[0].accuracy() > 0.3


@ALL
def test_what_a_client_alone_has_is_a_state_to_predict_with(name: str) -> None:
    method = method_of(name)
    assert len(method.alone()) == len(method.initial())
