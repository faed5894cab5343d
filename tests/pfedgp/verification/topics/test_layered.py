"""Rounds of FedAvg, FedPer and LG-FedAvg: other sizes and names pass, and every common mistake breaks a value."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pfedgp.verification.cases import federated_round
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.methods import split_network
from pfedgp_core.methods.split_network import SplitNetwork
from tests.pfedgp.verification.baseline_oracle import round_case
from tests.pfedgp.verification.golden_runs import failures, results

COUNTS = {"north": 5, "site_2": 9, "C": 3, "away": 4}
STEPS = {"lr": 0.2, "weight_decay": 0.03, "momentum": 0.8}
FEDAVG = round_case("fedavg", [5, 2], COUNTS, **STEPS)
FEDPER = round_case("fedper", [4, 6, 5], COUNTS, ("away",), ("W2", "b2"), **STEPS)
LG = round_case("lgfedavg", [2, 3, 4], COUNTS, ("C", "away"), ("W1", "b1"), **STEPS)
CASES = {"fedavg": FEDAVG, "fedper": FEDPER, "lgfedavg": LG}


@pytest.mark.parametrize("topic", CASES)
def test_other_sizes_and_names_pass(topic):
    assert failures([CASES[topic]]) == []


@pytest.mark.parametrize(
    ("topic", "sizes", "own"),
    [
        ("fedavg", [3, 4, 5, 2], ()),
        ("fedper", [3, 4, 5, 2], ("W2", "b2", "W3", "b3")),
        ("fedper", [6, 3], ("b",)),
        ("lgfedavg", [3, 4, 5, 2], ("W1",)),
    ],
)
def test_other_depths_and_splits_pass(topic, sizes, own):
    assert failures([round_case(topic, sizes, COUNTS, ("C",), own, **STEPS)]) == []


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(st.integers(2, 6), min_size=2, max_size=3), st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_any_sizes_pass(sizes, counts):
    clients = {f"client-{i}": n for i, n in enumerate(counts)}
    assert failures([round_case("fedavg", sizes, clients, lr=0.1, weight_decay=0, momentum=0.5)]) == []


def weigh_by_samples(monkeypatch):
    right = federated_round.weighted_mean
    monkeypatch.setattr(federated_round, "weighted_mean", lambda vectors, _: right(vectors, range(1, len(vectors) + 1)))


def forget_samples(monkeypatch):
    right = federated_round.weighted_mean
    monkeypatch.setattr(federated_round, "weighted_mean", lambda vectors, _: right(vectors))


def initialise_own_layers_again(monkeypatch):
    right = SplitNetwork.load
    monkeypatch.setattr(SplitNetwork, "load", lambda self, received, own: right(self, received, np.full_like(own, 0.1)))


def carry_momentum_on(monkeypatch):
    velocities = {}

    class Carried(SGD):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._velocities = velocities

    monkeypatch.setattr(split_network, "SGD", Carried)


def average_own_layers(monkeypatch):
    right, former = SplitNetwork.update, []

    def averaged(self, *arguments):
        update = right(self, *arguments)
        former.append(update.keep)
        return update._replace(keep=None if update.keep is None else np.mean(former, axis=0))

    monkeypatch.setattr(SplitNetwork, "update", averaged)


def forget_weight_decay(monkeypatch):
    monkeypatch.setattr(split_network, "SGD", lambda p, lr, momentum, weight_decay: SGD(p, lr, momentum, 0.0))


def leave_own_layers_untrained(monkeypatch):
    right = SplitNetwork.update
    monkeypatch.setattr(
        SplitNetwork,
        "update",
        lambda self, received, own, *rest: right(self, received, own, *rest)._replace(keep=own),
    )


def nudge_own_layers(monkeypatch):
    right = SplitNetwork.load
    monkeypatch.setattr(SplitNetwork, "load", lambda self, received, own: right(self, received, own * (1 + 1e-14)))


ANYWHERE = (weigh_by_samples, forget_samples, carry_momentum_on, forget_weight_decay)
OF_OWN_LAYERS = (initialise_own_layers_again, average_own_layers, leave_own_layers_untrained)
MISTAKES = [(topic, each) for topic in CASES for each in (*ANYWHERE, *(OF_OWN_LAYERS if topic != "fedavg" else ()))]


@pytest.mark.parametrize(("topic", "mistake"), MISTAKES, ids=lambda x: getattr(x, "__name__", x))
def test_mistake_in_the_product_breaks_a_value(topic, mistake, monkeypatch):
    mistake(monkeypatch)
    assert any("|err|" in line for line in failures([CASES[topic]], torch.float64))


def test_layers_of_an_absent_client_are_compared_to_the_bit(monkeypatch):
    nudge_own_layers(monkeypatch)
    (line,) = failures([FEDPER], torch.float64)
    assert "personal_away not computed: The layers of client 'away' changed" in line


@pytest.mark.parametrize("name", ["personal_nobody", "personal_North", "client_update_nobody", "server_median"])
def test_unknown_client_or_rule_is_not_understood(name):
    case = FEDPER | {"asserts": [FEDPER["asserts"][0] | {"name": name}]}
    assert [r.understood for r in results([case])] == [False, False]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("lr", None, "no input 'lr'"),
        ("model", {"kind": "forest", "classes": 5}, "the model 'forest' is not known"),
        ("model", {"kind": "linear", "classes": 5}, "the parameters"),
        ("model", {"kind": "mlp", "activation": "sine", "classes": 5}, "the activation 'sine' is not known"),
        ("participants", ["nobody"], "the participants ['nobody'] are none of the clients"),
    ],
)
def test_input_of_another_form_is_named(key, value, words):
    case = FEDPER | {"inputs": FEDPER["inputs"] | {key: value}}
    assert words in failures([case], torch.float64)[0]
