"""What the data of a federation of own sites are: one class list, one shape, one normalisation."""

import logging
from pathlib import Path

import numpy as np
import pytest

from client import own_site as own_site_module
from client.source import Source
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.errors import RunFailedError
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.run.model_file import load_model
from tests.federation_run import start
from tests.own_sites import DIGITS, IMAGES, OWN, OwnGrid, archive, image_folder, rows_of, table, three_image_sites


def test_images_are_resized_to_the_setting(tmp_path: Path) -> None:
    small, large = image_folder(tmp_path / "s", rows_of(0, 1)), image_folder(tmp_path / "l", rows_of(1, 2), size=12)
    with pytest.raises(RunFailedError, match=r"different shapes \(l: 1 x 12 x 12, s: 1 x 8 x 8\): set input-shape"):
        wait_for_clients(Roster(OWN.replace(min_clients=2)), OwnGrid({"s": small, "l": large}))
    roster = Roster(OWN.replace(min_clients=2, input_shape="3,10,10"))
    wait_for_clients(roster, OwnGrid({"s": small, "l": large}))
    assert roster.spec.input_shape == (3, 10, 10)
    assert len(roster.spec.mean) == 3


def test_tables_of_other_columns_are_told_about_columns_and_not_about_images(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sites = {name: table(tmp_path / f"{name}.csv", rows_of(0, 1, part=i)) for i, name in enumerate("abc")}
    lines = [line.partition(",")[2] for line in sites["c"].read_text().splitlines()]
    sites["c"].write_text("\n".join(lines) + "\n")
    wait_for_clients(Roster(OWN.replace(min_clients=2)), OwnGrid(sites))
    assert (
        "refused: c lacks the column 'p0': give it a table that has them, or have all sites leave them out (--drop)"
        in caplog.text
    )
    assert "input-shape" not in caplog.text


def test_the_normalisation_is_that_of_all_training_samples_together(tmp_path: Path) -> None:
    grid = OwnGrid(three_image_sites(tmp_path))
    roster = Roster(OWN)
    wait_for_clients(roster, grid)
    config = [grid.contexts[client.node_id].node_config for client in roster.all]
    parts = [own_site_module.own_site(Source.of(OWN, node)).loaded().parts["train"].inputs for node in config]
    assert sorted(len(part) for part in parts) == sorted(client.hello.n_train for client in roster.all)
    mean, std = input_statistics(np.concatenate(parts))
    assert roster.spec.mean == pytest.approx(mean.tolist(), rel=1e-6)
    assert roster.spec.std == pytest.approx(std.tolist(), rel=1e-6)


@pytest.mark.slow
def test_a_site_with_a_class_that_the_server_s_list_lacks_is_told_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "handlers", [])
    monkeypatch.setenv("PFEDGP_CLIENT_LOG", str(tmp_path / "site.log"))
    sites = three_image_sites(tmp_path)
    sites["ward-d"] = archive(tmp_path / "d.npz", rows_of(0, 9))
    settings = OWN.replace(class_names="d0, d1,d2,d3,d4,d5,d6,d7", rounds=2)
    run = start(OwnGrid(sites), settings, tmp_path / "run")
    assert run.summary["clients"] == 3
    server = [r.getMessage() for r in caplog.records if r.name == "pfedgp.server"]
    assert any("ward-d does not fit: The class 'd9' is none of the federation's 8 classes (d0, d1" in m for m in server)
    assert "this site cannot take part: The class 'd9'" in (tmp_path / "site.log").read_text()
    assert load_model(tmp_path / "run" / "final")[1]["class_names"] == [f"d{i}" for i in range(8)]


def test_the_class_list_of_a_site_maps_to_the_federation_s_by_position(tmp_path: Path) -> None:
    rows = rows_of(1, 2)
    np.savez(tmp_path / "n.npz", images=IMAGES[rows], labels=DIGITS[rows])
    grid = OwnGrid({"n": tmp_path / "n.npz", "w": archive(tmp_path / "w.npz", rows_of(0, 1, part=1))})
    roster = Roster(OWN.replace(min_clients=2, class_names="d0,d1,d2"))
    wait_for_clients(roster, grid)
    assert {c.name: c.hello.classes for c in roster.all} == {"n": (1, 2), "w": (0, 1)}
    assert all(c.hello.class_names == ("d0", "d1", "d2") for c in roster.all)


def named_archive(path: Path, *names: str, part: int = 0) -> Path:
    """Some digits, with these names of classes in the order of the digits."""
    rows = rows_of(*range(len(names)), part=part)
    np.savez(path, images=IMAGES[rows], labels=np.array(names)[DIGITS[rows]])
    return path


def test_a_class_in_another_case_is_one_class_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sites = {
        "ward-3": named_archive(tmp_path / "mine.npz", "zero", "three"),
        "ward-2": named_archive(tmp_path / "theirs.npz", "zero", "Three", part=1),
    }
    roster = Roster(OWN.replace(min_clients=2))
    wait_for_clients(roster, OwnGrid(sites))
    assert roster.freeze().class_names == ("Three", "zero")
    assert {client.hello.classes for client in roster.all} == {(0, 1)}
    assert "spellings that are counted as a class of another case: three; most sites decide" in caplog.text


@pytest.mark.parametrize(
    ("mine", "theirs", "class_names", "warning"),
    [
        (("zero", "thre"), ("zero", "three"), "", "'thre' (ward-3) and 'three' (ward-2)"),
        (("zero", "three"), ("zero", "Three"), "", ""),  # one class
        (("thre", "three"), ("zero", "three"), "", ""),  # ward-3 has both
        (("stage1", "other"), ("stage2", "different"), "", ""),
        (("10000", "10001"), ("10002", "10003"), "", ""),
        (("cat", "zero"), ("car", "zero"), "", ""),
        (("zero", "thre"), ("zero", "three"), "zero,thre,three", ""),
    ],
)
def test_classes_of_different_sites_that_are_nearly_the_same_are_named_before_training(
    mine: tuple[str, ...],
    theirs: tuple[str, ...],
    class_names: str,
    warning: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sites = {
        "ward-3": named_archive(tmp_path / "mine.npz", *mine),
        "ward-2": named_archive(tmp_path / "theirs.npz", *theirs, part=1),
    }
    wait_for_clients(Roster(OWN.replace(min_clients=2, class_names=class_names)), OwnGrid(sites))
    said = [r.getMessage() for r in caplog.records if "nearly the same classes" in r.getMessage()]
    assert len(said) == bool(warning)
    assert all(warning in sentence for sentence in said)


def test_own_data_and_a_simulation_do_not_mix(tmp_path: Path) -> None:
    grid = OwnGrid({"ward-b": archive(tmp_path / "b.npz", rows_of(0, 1))})
    node = grid.add_node({"partition-id": 0, "num-partitions": OWN.participants})
    grid.names[node] = "z"
    with pytest.raises(RunFailedError, match="do not share one partition"):
        wait_for_clients(Roster(OWN.replace(min_clients=2)), grid)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mean": [0.1, 0.2]}, "moments that do not fit"),
        ({"n_train": 10**12}, "implausible sample count"),
        ({"std": [-1.0]}, "malformed hello"),
        ({"mean": [float("nan")]}, "malformed hello"),
        ({"class_names": ["a\nb"], "classes": [0]}, "invisible character"),
    ],
)
def test_a_greeting_that_would_spoil_the_normalisation_is_refused(
    changes: dict, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pfedgp_core.wire.hello import Hello

    honest = Hello.to_wire
    monkeypatch.setattr(Hello, "to_wire", lambda self: honest(self.__class__(**(self.__dict__ | changes))))
    with pytest.raises(RunFailedError, match=reason):
        wait_for_clients(
            Roster(OWN.replace(wait_timeout=0.2)), OwnGrid({"w": archive(tmp_path / "b.npz", rows_of(0, 1))})
        )


def test_one_class_in_all_is_nothing_to_learn(tmp_path: Path) -> None:
    grid = OwnGrid({"w": archive(tmp_path / "b.npz", rows_of(3))})
    with pytest.raises(RunFailedError, match="only the class 'd3'"):
        wait_for_clients(Roster(OWN.replace(min_clients=1, clients_per_round=1)), grid)


@pytest.mark.parametrize("parts", [(0, 1), (0, 1, 2, 3)])
def test_sites_of_which_half_lack_a_column_do_not_begin_and_are_told_so(tmp_path: Path, parts: tuple[int, ...]) -> None:
    sites = {f"ward-{i}": table(tmp_path / f"{i}.csv", rows_of(0, 1, of=len(parts), part=i)) for i in parts}
    for i in parts[len(parts) // 2 :]:
        lines = [line.partition(",")[2] for line in sites[f"ward-{i}"].read_text().splitlines()]
        sites[f"ward-{i}"].write_text("\n".join(lines) + "\n")
    said = "have different columns: ward-[0-9] (lacks|has) the column 'p0'.*--drop"
    with pytest.raises(RunFailedError, match=said):
        wait_for_clients(Roster(OWN.replace(min_clients=len(parts))), OwnGrid(sites))
