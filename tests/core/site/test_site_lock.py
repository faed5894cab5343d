"""Readers and writers of one site at a time: a reader sees one state of it, and takes nothing from a living writer."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest import mock

import pytest

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files import folder
from pfedgp_core.site import site_lock, site_reading
from pfedgp_core.site.forgetting import chosen_rows, forget
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.site_files import DESCRIPTION, TENSORS
from pfedgp_core.site.site_lock import changing
from tests.core.site.test_forgetting import named_site


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    named_site(range(30), 30).save(tmp_path / "ward")
    return tmp_path / "ward"


def without(site: SavedSite, name: str) -> SavedSite:
    return forget(site, chosen_rows(site, [name], [])).after


def between_renames(act: Callable[[], Any]) -> Any:
    """A context in which `act` is called between the two renames of a replacement."""
    real, seen = os.rename, []

    def rename(source: Path, target: Path) -> None:
        seen.append(target)
        if len(seen) == 2:
            act()
        real(source, target)

    return mock.patch.object(folder.os, "rename", rename)


@pytest.mark.parametrize("name", [DESCRIPTION, TENSORS])
def test_a_site_that_is_replaced_while_it_is_read_is_read_again(ward: Path, name: str) -> None:
    after, real, read = without(SavedSite.load(ward), "a4"), site_reading.read_part, []

    def read_part(path: Path, which: str) -> bytes:
        content = real(path, which)
        read.append(which)
        if read == [DESCRIPTION, TENSORS][: 1 + (name == TENSORS)]:
            after.save(ward, replace=True)
        return content

    with mock.patch.object(site_reading, "read_part", read_part):
        found = SavedSite.load(ward)
    assert found.samples.sha256 == after.samples.sha256
    assert {origin.id for origin in found.samples.origins} == {f"a{i}" for i in range(30)} - {"a4"}


def test_damage_that_stays_is_told(ward: Path) -> None:
    (ward / TENSORS).write_bytes(b"nothing")
    with pytest.raises(ArtefactError, match="is damaged"):
        SavedSite.load(ward)


def test_a_reader_between_the_renames_waits_for_the_writer(ward: Path) -> None:
    after, waits, found = without(SavedSite.load(ward), "a4"), Event(), []

    def read() -> None:
        try:
            found.append(SavedSite.load(ward).samples.sha256)
        finally:
            waits.set()

    def let_it_look() -> None:
        thread.start()
        waits.wait(60)

    thread = Thread(target=read)
    with (
        mock.patch.object(site_lock.time, "sleep", side_effect=lambda _: waits.set()),
        changing(ward),
        between_renames(let_it_look),
    ):
        after.save(ward, replace=True)
    thread.join(60)
    assert found == [after.samples.sha256]


def test_a_second_writer_between_the_renames_is_refused_and_changes_nothing(ward: Path) -> None:
    after, said = without(SavedSite.load(ward), "a4"), []

    def change() -> None:
        with pytest.raises(ArtefactError, match="is changing the site at") as caught:
            changing(ward)
        said.append(caught)

    with changing(ward), between_renames(change):
        after.save(ward, replace=True)
    assert len(said) == 1
    assert SavedSite.load(ward).samples.sha256 == after.samples.sha256


def test_where_nobody_is_writing_a_reader_brings_the_site_back(ward: Path) -> None:
    expected = SavedSite.load(ward).samples.sha256
    ward.rename(ward.with_name(".ward.former"))
    assert SavedSite.load(ward).samples.sha256 == expected


def test_a_reader_does_not_wait_for_ever(ward: Path) -> None:
    with changing(ward):
        ward.rename(ward.with_name(".ward.former"))
        with (
            mock.patch.object(site_lock, "PATIENCE", 0.0),
            pytest.raises(ArtefactError, match="is changing the site at"),
        ):
            SavedSite.load(ward)
