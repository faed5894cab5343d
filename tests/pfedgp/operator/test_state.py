"""The state folder of a server."""

from pathlib import Path
from typing import NamedTuple

import pytest

from pfedgp.operator.state import ServerState, is_network_file_system
from pfedgp_core.errors import RunFailedError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_one_server_on_a_state_folder(tmp_path: Path) -> None:
    state = ServerState(tmp_path / "state")
    state.prepare()
    assert state.running() is None

    with state.locked():
        assert state.running()
        with pytest.raises(RunFailedError, match=r"runs on .* already"), state.locked():
            pass

    assert state.running() is None


def test_the_secret_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    state = ServerState(tmp_path / "state")
    state.prepare()
    state.make_secret()
    secret = state.secret.read_bytes()

    state.make_secret()

    assert state.secret.read_bytes() == secret
    assert len(secret) == 32
    assert state.secret.stat().st_mode & 0o777 == 0o600


class Mount(NamedTuple):
    mountpoint: str
    fstype: str


MOUNTS = [Mount("/", "ext4"), Mount("/srv", "nfs4"), Mount("/srv/my disk", "xfs"), Mount("/srv2", "cifs")]


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/a", ""), ("/srv", "nfs4"), ("/srv/a", "nfs4"), ("/srv/my disk/a", ""), ("/srv2/a", "cifs"), ("/srv3", "")],
)
def test_a_network_file_system_is_named(monkeypatch: pytest.MonkeyPatch, path: str, kind: str) -> None:
    monkeypatch.setattr("psutil.disk_partitions", lambda **every: MOUNTS)
    assert is_network_file_system(Path(path)) == kind
