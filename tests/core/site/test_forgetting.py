"""A forgotten sample leaves no trace: the classifier is the one that never had it, whatever the variant."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp_core.data.own.groups import group_hashes
from pfedgp_core.data.samples import Split
from pfedgp_core.errors import ArtefactError, DataError
from pfedgp_core.files.folder import remove_leftovers
from pfedgp_core.site.forgetting import chosen_rows, forget, receipt
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import DESCRIPTION, TENSORS
from pfedgp_core.site.site_lock import changing
from tests.core.site.test_saved import VARIANTS, data, model_of


def named_site(rows: range | list[int], n: int = 60, took_part: bool = False, **options: Any) -> SavedSite:
    """Samples a0, a1, ... of which every third row belongs to the same patient."""
    whole, model = data(n), model_of(**options)
    if took_part:
        model = replace(model, participants=("ward",))
    patients = group_hashes([f"patient {i % 3}" for i in rows])
    origins = [Origin(f"a{i}", patient, 0) for i, patient in zip(rows, patients, strict=True)]
    chosen = Split(whole.inputs[list(rows)], whole.labels[list(rows)])
    return SavedSite.fit("ward", model, SiteSamples.compute(chosen, model, origins))


def files(site: SavedSite, path: Path) -> tuple[bytes, bytes]:
    site.save(path)
    return (path / TENSORS).read_bytes(), (path / DESCRIPTION).read_bytes()


@pytest.mark.parametrize("options", VARIANTS, ids=lambda o: "-".join(map(str, o.values()))[:30])
def test_the_classifier_is_the_one_that_never_had_them(options: dict[str, Any], tmp_path: Path) -> None:
    site = named_site(range(60), **options)
    done = forget(site, chosen_rows(site, ["a4", "a17"], []))
    never = named_site([i for i in range(60) if i not in (4, 17)], **options)
    assert files(done.after, tmp_path / "forgot") == files(never, tmp_path / "never")
    assert files(site, tmp_path / "before") != files(never, tmp_path / "never again")


def test_a_saved_and_loaded_site_forgets_alike(tmp_path: Path) -> None:
    named_site(range(60)).save(tmp_path / "ward")
    site = SavedSite.load(tmp_path / "ward")
    done = forget(site, chosen_rows(site, ["a4"], []))
    never = named_site([i for i in range(60) if i != 4])
    assert files(done.after, tmp_path / "forgot") == files(never, tmp_path / "never")


def test_a_group_goes_as_a_whole() -> None:
    site = named_site(range(60))
    rows = chosen_rows(site, [], ["patient 1"])
    assert {site.samples.origins[i].id for i in np.flatnonzero(rows)} == {f"a{i}" for i in range(60) if i % 3 == 1}


@pytest.mark.parametrize("took_part", [True, False])
@pytest.mark.parametrize("unseen", [True, False])
def test_the_sentence_on_the_network_names_these_samples_and_no_number_of_any(took_part: bool, unseen: bool) -> None:
    site = named_site(range(30), 30, took_part)
    for ids, said in ((["a4"], " this sample"), (["a4", "a7"], " these 2 samples")):
        text = receipt(forget(site, chosen_rows(site, ids, [])), ids, [], unseen)["shared_network_text"]
        assert said in text
        assert "1 sample" not in text


def test_a_class_without_samples_is_lost() -> None:
    site = named_site(range(60))
    done = forget(site, chosen_rows(site, [], ["patient 1"]))
    assert done.classes_lost == ("bee",)
    assert done.after.class_names == ("ant", "dog")


@pytest.mark.parametrize(
    ("ids", "groups", "sentence"),
    [
        (["a4", "b9"], [], "has no sample of 'b9'"),
        ([], ["patient 7"], "has no sample of 'patient 7'"),
        ([""], [], "has no sample of ''"),
    ],
)
def test_names_that_no_sample_has_are_refused(ids: list[str], groups: list[str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        chosen_rows(named_site(range(60)), ids, groups)


def test_an_id_of_several_samples_is_not_taken_for_one() -> None:
    model, split = model_of(), data(6)
    origins = [Origin(str(i % 3), "", 0) for i in range(6)]
    site = SavedSite.fit("ward", model, SiteSamples.compute(split, model, origins))
    with pytest.raises(DataError, match="names 2 samples"):
        chosen_rows(site, ["1"], [])
    assert chosen_rows(site, ["1"], [], repeated=True).sum() == 2
    with pytest.raises(DataError, match="no groups"):
        chosen_rows(site, [], ["1"])


def test_a_site_of_a_former_version_knows_no_ids(tmp_path: Path) -> None:
    named_site(range(60)).save(tmp_path / "ward")
    (tmp_path / "ward" / "samples.json").unlink()
    with pytest.raises(DataError, match="former version"):
        chosen_rows(SavedSite.load(tmp_path / "ward"), ["a4"], [])


def test_the_last_sample_stays() -> None:
    site = named_site(range(60))
    with pytest.raises(DataError, match="No sample"):
        forget(site, np.ones(60, dtype=bool))


def test_an_equal_sample_of_another_id_is_told() -> None:
    model, split = model_of(), data(6)
    twice = Split(split.inputs[[0, 0, 1, 2]], split.labels[[0, 0, 1, 2]])
    origins = [Origin(name, "", 0) for name in "abcd"]
    site = SavedSite.fit("ward", model, SiteSamples.compute(twice, model, origins))
    done = forget(site, chosen_rows(site, ["a"], []))
    assert done.equal_remaining == 1
    assert [origin.id for origin in done.after.samples.origins].count("b") == 1


@pytest.mark.parametrize(
    ("participants", "unseen", "state", "words"),
    [
        (("ward",), True, "trained", "was trained with data of the site 'ward'"),
        ((), True, "nothing", "by your word"),
        (("other",), False, "not-by-this-name", "No client of the name 'ward' trained"),
        ((), False, "unknown", "does not say who trained it"),
    ],
)
def test_the_receipt_says_what_the_shared_network_carries(
    participants: tuple[str, ...], unseen: bool, state: str, words: str
) -> None:
    site = named_site(range(60))
    site = replace(site, model=replace(site.model, participants=participants))
    found = receipt(forget(site, chosen_rows(site, ["a4"], [])), ["a4"], [], unseen)
    assert found["shared_network"] == state
    assert words in found["shared_network_text"]


def test_the_history_names_nobody_that_was_forgotten(tmp_path: Path) -> None:
    site = named_site(range(60))
    forget(site, chosen_rows(site, ["a4"], []), "nurse").after.save(tmp_path / "ward")
    text = (tmp_path / "ward" / "samples.json").read_text()
    assert '"a4"' not in text
    assert '"a5"' in text
    (event,) = SavedSite.load(tmp_path / "ward").history
    assert (event.verb, event.by, event.samples, event.total) == ("forget", "nurse", 1, 59)


def test_what_a_killed_replacement_left_is_removed(tmp_path: Path) -> None:
    site = named_site(range(60))
    site.save(tmp_path / "ward")
    for name in (".ward.former", ".ward.4711"):
        site.save(tmp_path / name)
    (tmp_path / "ward.7").mkdir()
    remove_leftovers(tmp_path / "ward")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward", "ward.7"]


def test_a_site_changes_once_at_a_time(tmp_path: Path) -> None:
    named_site(range(60)).save(tmp_path / "ward")
    with changing(tmp_path / "ward"), pytest.raises(ArtefactError, match="is changing the site"):
        changing(tmp_path / "ward")
