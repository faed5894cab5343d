"""Copies of known samples do not hide what wrong labels do, and known inputs with other labels are named."""

from dataclasses import replace

import numpy as np
import pytest

from pfedgp_core.data.samples import Split
from pfedgp_core.site.gate import left_out_nll
from pfedgp_core.site.learning import learn
from pfedgp_core.site.near_copies import among, reach, singles
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_learning import further
from tests.core.site.test_saved import data, model_of


def renamed(samples: SiteSamples, suffix: str) -> SiteSamples:
    return replace(samples, origins=tuple(origin._replace(id=origin.id + suffix) for origin in samples.origins))


def twice(site: SavedSite) -> SiteSamples:
    return renamed(site.samples, "x").union(renamed(site.samples, "y"))


def other_labels(site: SavedSite, rows: range) -> SiteSamples:
    split = data(60)
    labels = np.array([1, 3, 0])[np.searchsorted([0, 1, 3], split.labels)]
    chosen = Split(split.inputs[list(rows)], labels[list(rows)])
    return SiteSamples.compute(chosen, site.model, [Origin(f"c{i}", "", 0) for i in rows])


def test_copies_do_not_hide_wrong_labels() -> None:
    site = named_site(range(60))
    alone = learn(site, further(site, wrong=True))
    hidden = learn(site, further(site, wrong=True).union(twice(site)))
    assert not alone.accepted
    assert not hidden.accepted
    assert (hidden.nll_before, hidden.nll_after) == (alone.nll_before, alone.nll_after)
    assert hidden.copies == 120


@pytest.mark.slow
def test_copies_that_were_learned_before_do_not_hide_them_either() -> None:
    copied = learn(named_site(range(60)), twice(named_site(range(60))))
    assert copied.accepted
    hidden = learn(copied.after, further(copied.after, wrong=True))
    alone = learn(named_site(range(60)), further(copied.after, wrong=True))
    assert not hidden.accepted
    assert (hidden.nll_before, hidden.nll_after) == pytest.approx((alone.nll_before, alone.nll_after))


def test_right_labels_are_learned_beside_copies() -> None:
    site = named_site(range(30), 30)
    done = learn(site, further(site).union(twice(site)))
    assert done.accepted
    assert len(done.after.samples) == 110


def test_known_inputs_with_other_labels_are_refused_and_named() -> None:
    site = named_site(range(60))
    done = learn(site, other_labels(site, range(40)).union(further(site)))
    assert not done.accepted
    assert sorted(done.contradictions) == sorted(f"c{i}" for i in range(40))
    assert done.copies == 0


def test_copies_of_both_kinds_are_named() -> None:
    site = named_site(range(60))
    done = learn(site, other_labels(site, range(5)).union(twice(site)))
    assert {name for name in done.contradictions if name.startswith("c")} == {f"c{i}" for i in range(5)}


def test_two_classes_of_one_new_input_are_named() -> None:
    site = named_site(range(60))
    split = data(3, (0, 1, 3), seed=7)
    both = Split(split.inputs[[0, 0, 1]], np.array([0, 1, 1]))
    added = SiteSamples.compute(both, site.model, [Origin(name, "", 0) for name in "pqr"])
    assert sorted(learn(site, added).contradictions) == ["p", "q"]


@pytest.mark.parametrize("seed", range(3))
def test_tables_of_few_patterns_are_learned(seed: int) -> None:
    """The same patterns with the same shares of classes are no fault, though each of them is known."""
    draw, model = np.random.default_rng(seed), model_of()

    def records(n: int) -> SiteSamples:
        labels = draw.integers(2, size=n)
        kinds = np.where(draw.uniform(size=n) < 0.1, 1 - labels, labels)
        return SiteSamples.compute(Split((np.eye(5)[kinds] * 3).astype(np.float32), labels), model)

    site = SavedSite.fit("ward", model, records(60))
    done = learn(site, records(40))
    assert done.accepted
    assert done.copies == 40


def test_without_copies_the_score_is_that_of_the_sites_as_they_are() -> None:
    site = named_site(range(60))  # in which no two samples are near copies
    done = learn(site, further(site))
    assert done.copies == 0
    former = np.array([origin.id.startswith("a") for origin in done.after.samples.origins])
    assert done.nll_before == left_out_nll(site).mean()
    assert done.nll_after == left_out_nll(done.after, former).mean()


def nearly(samples_of: SavedSite, noise: float, seed: int = 0) -> SiteSamples:
    """The site's samples twice, each changed a little, as a picture that is compressed again."""
    split, draw = data(60), np.random.default_rng(seed)
    inputs = np.concatenate([split.inputs + noise * draw.normal(size=split.inputs.shape) for _ in range(2)])
    changed = Split(inputs.astype(np.float32), np.tile(split.labels, 2))
    return SiteSamples.compute(changed, samples_of.model, [Origin(f"n{i}", "", 0) for i in range(120)])


def test_near_copies_do_not_hide_wrong_labels_either(monkeypatch: pytest.MonkeyPatch) -> None:
    site = named_site(range(60))
    added = further(site, wrong=True).union(nearly(site, 0.02))
    alone, hidden = learn(site, further(site, wrong=True)), learn(site, added)
    assert not hidden.accepted
    assert hidden.copies == 120
    assert (hidden.nll_before, hidden.nll_after) == (alone.nll_before, alone.nll_after)
    monkeypatch.setattr("pfedgp_core.site.near_copies.NEAR", 0.0)
    assert learn(site, added).accepted  # where copies have to be equal to the bit, they do hide them


def test_near_copies_with_right_labels_are_learned() -> None:
    site = named_site(range(60))
    done = learn(site, nearly(site, 0.02))
    assert done.accepted
    assert len(done.after.samples) == 180


def test_near_copies_that_were_learned_before_do_not_change_what_is_near() -> None:
    site = named_site(range(60))
    more = learn(site, nearly(site, 0.02)).after
    assert reach(more.samples) == reach(site.samples)
    rows, times = singles(more.samples, reach(more.samples))
    assert len(rows) <= 60
    assert times.sum() == 180
    assert not learn(more, further(more, wrong=True)).accepted


def test_new_samples_are_no_near_copies() -> None:
    site = named_site(range(60))
    assert not among(further(site), site.samples, reach(site.samples)).any()
    assert among(site.samples, site.samples, 0.0).all()
