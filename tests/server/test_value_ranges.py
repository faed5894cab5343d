"""Federations of images that are no bytes: one range for all sites, in the model too, and another one is refused."""

import csv
import logging
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.errors import RunFailedError
from pfedgp_core.site.saved import SavedSite
from server.clients.roster import Roster
from server.clients.value_ranges import range_misfit
from server.clients.waiting import wait_for_clients
from server.run.model_file import load_model
from tests.federation_run import start
from tests.own_sites import DIGITS, IMAGES, OWN, OwnGrid, rows_of

SETTINGS = OWN.replace(rounds=4, evaluate_every=2)
SCANS = IMAGES.astype(np.int16) * 8 - 1024  # as Hounsfield units
DEEP = IMAGES.astype(np.uint16) * 16


def archive(path: Path, images: np.ndarray, part: int) -> Path:
    rows = rows_of(0, 1, 2, 3, part=part)
    np.savez(path, images=images[rows], labels=np.array([f"d{digit}" for digit in DIGITS[rows]]))
    return path


def sites(root: Path, *images: np.ndarray) -> dict[str, Path | str]:
    return {f"ward-{i}": archive(root / f"{i}.npz", values, i % 3) for i, values in enumerate(images)}


@pytest.mark.slow
@pytest.mark.parametrize(("images", "name"), [(SCANS, "open"), (DEEP, "0..65535"), (IMAGES / 255, "0..1")])
def test_sites_of_one_range_learn_and_their_model_keeps_it(
    images: np.ndarray, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = start(OwnGrid(sites(tmp_path, images, images, images)), SETTINGS, tmp_path / "run")
    assert run.summary["accuracy"] > 0.8
    assert load_model(tmp_path / "run" / "best")[1]["value_range"] == name
    model, own, site = tmp_path / "run" / "best", tmp_path / "0.npz", tmp_path / "site"
    assert main(["onboard", "--model", str(model), "--data", str(own), "--out", str(site)]) == 0
    assert SavedSite.load(site).model.value_range == name
    out = tmp_path / "p.csv"
    assert main(["predict", "--site", str(site), "--data", str(tmp_path / "1.npz"), "--out", str(out)]) == 0
    with out.open() as file:
        answers = [row["predicted"] for row in csv.DictReader(file)]
    truth = read_samples(tmp_path / "1.npz").labels or ()
    assert np.mean([a == b for a, b in zip(answers, truth, strict=True)]) > 0.8
    other = str(archive(tmp_path / "other.npz", IMAGES, 2))
    capsys.readouterr()
    assert main(["predict", "--site", str(site), "--data", other, "--out", str(out)]) == 2
    assert "as of the range 0..255 (8 bits)" in capsys.readouterr().err
    assert main(["check-data", other, "--model", str(model)]) == 2


@pytest.mark.slow
def test_floating_point_of_bytes_goes_with_bytes(tmp_path: Path) -> None:
    run = start(OwnGrid(sites(tmp_path, IMAGES, IMAGES.astype(np.float32), IMAGES)), SETTINGS, tmp_path / "run")
    same = start(OwnGrid(sites(tmp_path, IMAGES, IMAGES, IMAGES)), SETTINGS, tmp_path / "same")
    assert [record["ok"] for record in run.records] == [3] * 4
    assert load_model(run.path / "final")[1]["value_range"] == "0..255"
    np.testing.assert_allclose(
        load_model(run.path / "final")[1]["normalisation"]["mean"],
        load_model(same.path / "final")[1]["normalisation"]["mean"],
        rtol=0.01,  # not of the same samples: another type of number has another digest
    )


def test_another_range_than_that_of_most_sites_is_refused_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid, roster = OwnGrid(sites(tmp_path, SCANS, SCANS, SCANS, IMAGES / 255)), Roster(SETTINGS)
    wait_for_clients(roster, grid)
    (reason,) = roster.refusals.values()
    assert reason.startswith("ward-3 has images with values from 0 to 1, the federation with values of an open range")
    assert "--value-range open" in reason
    roster.freeze()
    late = grid.add_site("late", archive(tmp_path / "late.npz", IMAGES, 1))
    roster.refresh(grid)
    assert "late has images with values from 0 to 255" in roster.refusals[late]
    assert "this site cannot take part: its images have values from 0 to 255" in caplog.text


def test_two_sites_of_two_ranges_do_not_begin(tmp_path: Path) -> None:
    settings = SETTINGS.replace(clients_per_round=2, min_clients=2)
    with pytest.raises(
        RunFailedError, match=r"different ranges \(ward-0: values from 0 to 255; ward-1: values from 0 to 1"
    ):
        start(OwnGrid(sites(tmp_path, IMAGES, IMAGES / 255)), settings, tmp_path / "run")


def test_a_range_that_the_operator_says_is_that_of_the_site(tmp_path: Path) -> None:
    dark = np.clip(DEEP, 0, 200).astype(np.int32)  # seen alone, as bytes
    grid = OwnGrid(sites(tmp_path, DEEP, DEEP))
    grid.add_site("ward-2", archive(tmp_path / "2.npz", dark, 2), **{"value-range": "0..65535"})
    roster = Roster(SETTINGS)
    wait_for_clients(roster, grid)
    assert not roster.refusals
    assert {client.hello.value_range for client in roster.all} == {"0..65535"}


@pytest.mark.slow
def test_images_of_a_unit_are_compared_by_their_moments(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    shares = SCANS / 4096  # negative as well, so of an open range
    start(OwnGrid(sites(tmp_path, SCANS, SCANS, shares)), SETTINGS.replace(rounds=1), tmp_path / "run")
    assert "ward-2 is far from the other sites in channel 1 of the images" in caplog.text


def test_a_greeting_of_a_former_version_has_bytes(tmp_path: Path) -> None:
    grid, roster = OwnGrid(sites(tmp_path, IMAGES, IMAGES, IMAGES)), Roster(SETTINGS)
    wait_for_clients(roster, grid)
    hello = roster.all[0].hello
    assert not range_misfit(hello, "")
    assert "values from 0 to 1:" in range_misfit(hello, "0..1")
