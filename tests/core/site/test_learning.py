"""A site learns what helps, refuses what harms, and takes back an addition without a copy of what it was."""

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.site.forgetting import chosen_rows, forget
from pfedgp_core.site.gate import left_out_nll
from pfedgp_core.site.learning import learn, undo
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.tree.classifier import PersonalClassifier
from tests.core.site.test_forgetting import files, named_site
from tests.core.site.test_saved import data


def further(site: SavedSite, n: int = 20, classes: tuple[int, ...] = (0, 1, 3), wrong: bool = False) -> SiteSamples:
    split = data(n, classes, seed=7)
    labels = np.roll(np.array([0, 1, 3]), 1)[np.searchsorted([0, 1, 3], split.labels)] if wrong else split.labels
    return SiteSamples.compute(Split(split.inputs, labels), site.model, [Origin(f"b{i}", "", 0) for i in range(n)])


def test_good_samples_are_learned_as_if_they_had_always_been_there(tmp_path: Path) -> None:
    site = named_site(range(30), 30)
    done = learn(site, further(site), "nurse")
    assert done.accepted
    assert done.nll_after < done.nll_before
    at_once = SavedSite.fit("ward", site.model, site.samples.union(further(site)))
    assert files(done.after, tmp_path / "learned") == files(at_once, tmp_path / "at once")
    event = done.after.history[-1]
    assert (event.verb, event.by, event.samples, event.total, event.batch) == ("learn", "nurse", 20, 50, 1)
    assert done.milliseconds > 0


def test_wrong_labels_are_refused() -> None:
    site = named_site(range(60))
    done = learn(site, further(site, wrong=True))
    assert not done.accepted
    assert done.nll_after > done.nll_before


def test_a_new_class_is_no_fault() -> None:
    site = named_site(range(60))
    done = learn(site, further(site, classes=(2,)))
    assert done.accepted
    assert done.after.class_names == ("ant", "bee", "cat", "dog")


def test_the_nll_is_that_of_the_tempered_probabilities() -> None:
    site = named_site(range(30), 30)
    tempered = np.exp(site.classifier.leave_one_out_log_proba()) ** (1 / site.model.temperature)
    tempered /= tempered.sum(axis=1, keepdims=True)
    columns = np.searchsorted(site.classifier.classes_, site.samples.labels)
    np.testing.assert_allclose(left_out_nll(site), -np.log(tempered[np.arange(30), columns]))


@pytest.mark.slow
def test_undo_gives_the_former_classifier(tmp_path: Path) -> None:
    site = named_site(range(30), 30)
    twice = learn(learn(site, further(site)).after, further(site, 9, (2,))).after
    once = undo(twice)
    assert files(once, tmp_path / "once") == files(learn(site, further(site)).after, tmp_path / "learned")
    assert files(undo(once), tmp_path / "undone") == files(site, tmp_path / "former")
    with pytest.raises(DataError, match="nothing to undo"):
        undo(undo(once))


def test_undo_brings_back_nothing_that_was_forgotten(tmp_path: Path) -> None:
    site = named_site(range(30), 30)
    learned = learn(site, further(site)).after
    forgot = forget(learned, chosen_rows(learned, ["a4", "b2"], [])).after
    never = named_site([i for i in range(30) if i != 4], 30)
    assert files(undo(forgot), tmp_path / "undone") == files(never, tmp_path / "never")


def test_an_addition_after_an_undo_has_a_number_of_its_own() -> None:
    site = named_site(range(30), 30)
    again = learn(undo(learn(site, further(site)).after), further(site)).after
    assert [event.batch for event in again.history] == [1, 1, 2]
    assert {origin.batch for origin in again.samples.origins} == {0, 2}


def test_without_a_leave_one_out_there_is_no_gate() -> None:
    site = named_site(range(60))
    with (
        mock.patch.object(PersonalClassifier, "leaves_one_out", property(lambda _: False)),
        pytest.raises(ConfigError, match="onboard --add"),
    ):
        learn(site, further(site))
