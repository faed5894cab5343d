"""Settings that were given and change nothing under the run's method are named before round 1."""

import logging
from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.methods.make import make_method
from server.unused_settings import unused_settings
from tests.federation_run import SMALL, federate
from tests.uninterrupted import without_pictures


def said(**given: str | float) -> list[str]:
    settings = Settings.from_run_config({key.replace("__", ".").replace("_", "-"): v for key, v in given.items()})
    return unused_settings(settings, make_method(settings, (1, 8, 8), 10))


@pytest.mark.parametrize("method", ["pfedgp", "knn-per", "fola", "lda"])
def test_the_defaults_and_the_method_s_own_settings_are_not_named(method: str) -> None:
    assert said(method=method) == []
    assert said(method="knn-per", knn_per__weight=0.3) == []


def test_settings_of_another_method_are() -> None:
    (sentence,) = said(knn_per__weight=0.3)
    assert sentence == "settings of other methods change nothing under method = pfedgp: knn-per.weight = 0.3"


def test_settings_of_gaussian_processes_are_under_a_method_without_any() -> None:
    (sentence,) = said(method="fedavg", gp__sweeps=7, variant="ip-data")
    assert "under method = fedavg: " in sentence
    assert "variant = ip-data" in sentence
    assert "gp.sweeps = 7" in sentence
    assert said(method="lda", gp__sweeps=7) == []


def test_a_regression_has_no_classes_to_choose_by() -> None:
    (sentence,) = said(task="regression", dataset="diabetes", best_classes="own")
    assert sentence == "best-classes = own changes nothing in a regression, which has none"
    assert said(best_classes="own") == []


def test_a_method_whose_uploads_are_no_updates_sends_all_bits() -> None:
    (sentence,) = said(method="fola", update_encoding="int8")
    assert sentence == (
        "method = fola sends all bits, as its uploads are no updates: update-encoding = int8 changes nothing"
    )
    assert said(method="fedavg", update_encoding="int8") == []


def test_settings_of_another_partition_are() -> None:
    (sentence,) = said(novel_alpha=0.5, natural_floor=9)
    assert sentence == (
        "settings of other partitions change nothing under partition = k-class: novel-alpha = 0.5, natural-floor = 9"
    )
    assert said(partition="quantity", dirichlet_alpha=0.5) == []


def test_an_alpha_of_novel_clients_is_where_there_are_none() -> None:
    (sentence,) = said(partition="dirichlet", novel_alpha=0.5)
    assert sentence == "novel-alpha = 0.5 changes nothing without novel-clients"
    assert said(partition="dirichlet", novel_alpha=0.5, novel_clients=2) == []


def test_a_run_says_it_before_round_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without_pictures(monkeypatch)
    caplog.set_level(logging.WARNING, "pfedgp")
    settings = Settings.from_run_config(SMALL.replace(rounds=1).to_run_config() | {"knn-per.weight": 0.3})
    federate(settings, tmp_path / "run")
    assert "under method = pfedgp: knn-per.weight = 0.3" in caplog.text
