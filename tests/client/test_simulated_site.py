"""The greeting of a simulated client says what its tensors hold, and makes none."""

import pytest

from client import site
from client.site import greeting, load_site
from pfedgp_core.config import Settings

CLIENTS = 5
KINDS = {
    "classes": Settings(clients=CLIENTS),
    "shares": Settings(clients=CLIENTS, partition="dirichlet"),
    "targets": Settings(clients=CLIENTS, dataset="diabetes", task="regression"),
    "left out": Settings(clients=CLIENTS, unseen_clients=2, clients_per_round=2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_the_client_has(kind: str) -> None:
    settings = KINDS[kind]
    for index in range(settings.participants):
        config = {"partition-id": index, "num-partitions": settings.participants}
        hello, data = greeting(settings, config), load_site(settings, config).data
        classes = tuple(data.train.labels.unique().tolist()) if data.class_names else ()
        assert hello.classes == classes
        assert (hello.name, hello.class_names) == (data.name, data.class_names)
        counts = (len(data.train), len(data.validation), len(data.test))
        assert (hello.n_train, hello.n_validation, hello.n_test) == counts
        assert (hello.mean, hello.std, hello.input_shape) == (data.mean, data.std, tuple(data.train.inputs.shape[1:]))


def test_it_makes_no_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise AssertionError("tensors for a greeting")

    monkeypatch.setattr(site, "simulated_client", refused)
    hello = greeting(KINDS["classes"], {"partition-id": 0, "num-partitions": CLIENTS, "client-name": "ward-1"})
    assert (hello.name, len(hello.classes)) == ("ward-1", 2)
