"""The doctor's checks of a site's folder, disk, device, data and versions."""

import fcntl
import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from pfedgp.doctor import local
from pfedgp.doctor.problem import checked


def test_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024 (as shutil's)
    for free, status in ((10**10, "ok"), (10**9, "warning"), (10**8, "problem")):
        monkeypatch.setattr(local.shutil, "disk_usage", lambda path, free=free: usage(10**12, 0, free))
        state, disk = local.check_folder(tmp_path / "new" / "state")
        assert state.status == "ok"
        assert "can be made" in state.fact
        assert disk.status == status


def test_state_folder_that_cannot_be_written_or_is_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    state = next(local.check_folder(tmp_path / "file"))
    assert state.status == "problem"
    assert "cannot be written" in state.line

    monkeypatch.setattr(local, "is_network_file_system", lambda path: "nfs4")
    state = next(local.check_folder(tmp_path))
    assert state.status == "warning"
    assert "nfs4" in state.line
    assert "local disk" in state.line


def test_client_and_progress(tmp_path: Path) -> None:
    assert [check.fact.split()[0] for check in local.check_client(tmp_path)] == ["none", "no", "none:"]

    (tmp_path / "client.json").write_text(json.dumps({"supervisor": 77, "connected": True, "mode": "stock"}))
    (tmp_path / "progress.json").write_text(
        json.dumps({"run": "12", "round": 7, "status": "ok", "time": "2026-01-01T00:00:00Z"})
    )
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        client, progress, _policy = local.check_client(tmp_path)
    assert "process 77" in client.fact
    assert ", connected" in client.fact
    assert "slow" in client.fact
    assert "round 7 of run 12" in progress.fact
    assert next(local.check_client(tmp_path)).fact.startswith("none")


def test_device_and_data(tmp_path: Path) -> None:
    assert local.check_device("cpu").fact.startswith("cpu")
    assert checked("device", lambda: local.check_device("gpu")).status == "problem"

    labels = np.array(["a", "b"] * 10)
    images = np.random.default_rng(0).integers(0, 256, (20, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "good.npz", x=images, y=labels)
    good = local.check_data_at(tmp_path / "good.npz", "label")
    assert good.status == "ok"
    assert "20 samples of 2 classes" in good.fact

    np.savez(tmp_path / "bad.npz", x=np.full((20, 8), np.nan), y=labels)
    bad = local.check_data_at(tmp_path / "bad.npz", "label")
    assert bad.status == "problem"
    assert "pfedgp check-data" in bad.line
    assert checked("data", lambda: local.check_data_at(tmp_path / "none.npz", "label")).status == "problem"


def test_values_without_names_of_columns_are_pointed_out(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((20, 8))
    np.savez(tmp_path / "nameless.npz", x=values, y=np.array(["a", "b"] * 10))
    found = local.check_data_at(tmp_path / "nameless.npz", "label")
    assert found.status == "warning"
    assert "taken by position" in found.line


def test_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local.check_versions("elsewhere").status == "ok"
    monkeypatch.setattr(local, "software_versions", lambda: {"flwr": "1.42.0"})
    assert local.check_versions("elsewhere").status == "warning"


def test_the_servers_last_words(tmp_path: Path) -> None:
    told = {"run": "12", "time": "2026-01-01T10:00:00Z", "refused": True, "words": "refused: check\x1b the units"}
    (tmp_path / "notice.json").write_text(json.dumps(told))
    server = list(local.check_client(tmp_path))[-1]
    assert (server.topic, server.status) == ("server", "problem")
    assert r"refused this site at 2026-01-01T10:00:00Z: refused: check\x1b the units" in server.line

    for later, refused, status in (("11", True, "ok"), ("09", True, "problem"), ("09", False, "ok")):
        progress = {"run": "12", "round": 7, "status": "ok", "time": f"2026-01-01T{later}:00:00Z"}
        (tmp_path / "progress.json").write_text(json.dumps(progress))
        (tmp_path / "notice.json").write_text(json.dumps(told | {"refused": refused}))
        server = list(local.check_client(tmp_path))[-1]
        assert server.status == status
        assert "the units" in server.line
