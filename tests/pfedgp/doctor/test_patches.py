"""The doctor names patches that have lost what they need, on each side."""

from importlib import import_module

import pytest
from flwr.supercore import object_store
from flwr.supercore.inflatable import inflatable_utils

from pfedgp.cli import main
from pfedgp.doctor.patches import check_patches
from pfedgp.operator.state import ServerState
from pfedgp.patches import SIDES, patches_of

# What patches look at is imported whole before tests take parts away: half of an import would last.
import_module("flwr.superlink.cli.flower_superlink")


@pytest.mark.parametrize("side", SIDES)
def test_with_the_pinned_flower_all_fit(side: str) -> None:
    assert check_patches(patches_of(side)).status == "ok"


@pytest.mark.parametrize("side", SIDES)
def test_all_are_named(side: str) -> None:
    assert check_patches(patches_of(side)).fact.endswith(", ".join(patch.name for patch in patches_of(side)))


def test_each_has_a_name_of_its_own() -> None:
    names = [patch.name for side in SIDES for patch in patches_of(side)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("side", ["server", "site"])
def test_a_lost_one_that_carries_safety_is_a_problem(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    monkeypatch.delattr("flwr.superlink.grid.http_grid.HttpGrid")
    monkeypatch.delattr("flwr.supercore.task_identity.TaskIdentity")
    assert check_patches(patches_of(side)).status == "problem"


def test_a_lost_one_that_carries_none_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(object_store, "ObjectStoreFactory")
    assert "The patch whole-database (" in check_patches(patches_of("server")).line


def test_the_doctor_of_a_server_names_a_lost_one(
    monkeypatch: pytest.MonkeyPatch, stopped: ServerState, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(inflatable_utils, "pull_objects")
    main(["doctor", "--state", str(stopped.path)])
    assert "problem  Flower: The patch replies-in-time (" in capsys.readouterr().out


def test_the_doctor_of_a_site_names_a_lost_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flwr.__version__", "1.42.0")
    main(["doctor", "--superlink", "localhost:9", "--insecure"])
    assert "problem  Flower: The patch own-agent (" in capsys.readouterr().out
