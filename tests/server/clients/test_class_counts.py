"""Thousands of class names: they are refused by name before anything is made of them, and drawn or told in part."""

import logging
from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.wire.hello import Hello
from server.clients.class_counts import MOST_CLASSES, crowding, too_many_classes
from server.report.figures import MOST_DRAWN, confusion_map
from tests.federation_run import start
from tests.own_sites import OWN, OwnGrid, three_image_sites
from tests.wire_parts import greets_with


def hello(name: str, classes: int, samples: int, first: int = 0) -> Hello:
    names = tuple(f"c{i}" for i in range(first, first + classes))
    return Hello(name, (0,), names, samples, 0, 0, (1, 8, 8), "", {}, (0.5,), (0.2,))


@pytest.mark.parametrize(
    ("classes", "samples", "reason"),
    [
        (5000, 200, "x names 5,000 classes and has 200 samples: a class needs at least one."),
        (5000, 10**6, "x names 5,000 classes, more than 1,000: look whether its labels are classes at all"),
        (1000, 1000, ""),
    ],
)
def test_a_site_has_as_many_classes_as_samples_and_a_thousand_at_most(classes: int, samples: int, reason: str) -> None:
    said = too_many_classes(hello("x", classes, samples), Settings())
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


@pytest.mark.slow
def test_classes_that_the_operator_has_named_are_not_too_many() -> None:
    settings = Settings(class_names=",".join(f"c{i}" for i in range(5000)))
    assert too_many_classes(hello("x", 5000, 10**6), settings) == ""
    assert crowding([hello("x", 5000, 10**6)], settings) == {}


def test_the_sites_with_the_most_classes_of_their_own_go_until_the_union_is_small_enough() -> None:
    honest = [hello(name, 50, 500) for name in ("a", "b", "c")]
    liars = [hello("x", 1000, 5000, first=1000), hello("y", 999, 5000, first=3000)]
    assert crowding([*honest, *liars], Settings()).keys() == {"x"}
    (reason,) = crowding([*honest, *liars], Settings()).values()
    assert reason.startswith(
        f"x brings 1,000 classes that no other site has, and all sites together have more than {MOST_CLASSES:,}"
    )
    assert crowding([*honest, liars[1]], Settings()) == {}


@pytest.mark.slow
def test_a_run_goes_on_without_a_site_of_ten_thousand_classes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    sites = three_image_sites(tmp_path)
    sites["z"] = sites["ward-b"]
    names = [f"class {i:05} {'x' * 180}" for i in range(9_000)]
    forged = greets_with(3, class_names=names, classes=[0], n_train=10**6)
    run = start(OwnGrid(sites, forged), OWN.replace(rounds=1), tmp_path / "run")
    assert run.summary["clients"] == 3
    assert "refused: z names 9,000 classes, more than 1,000" in caplog.text
    assert max(map(len, caplog.text.splitlines())) < 1000


def test_a_confusion_map_draws_the_largest_classes_alone() -> None:
    names = [f"c{i}" for i in range(2000)]
    counts = {(i, i): i + 1 for i in range(2000)} | {(1999, 0): 7}
    drawing = confusion_map(names, counts)
    assert drawing.width < 1000
    assert f"The {MOST_DRAWN} of 2000 classes with the most test samples" in drawing.svg_file()
    assert "7 of 2001007 test samples" in drawing.label


def test_a_confusion_map_of_few_classes_draws_all() -> None:
    drawing = confusion_map(["a", "b"], {(0, 1): 3, (1, 1): 2})
    assert "classes with the most" not in drawing.svg_file()
