"""Keys of sites, and which of them are connected."""

import time
from pathlib import Path
from typing import cast

import pytest

from pfedgp.operator import authority
from pfedgp.operator.control import Control, SuperNode
from pfedgp.operator.sites import SiteWatch, read_public_key
from pfedgp_core.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_public_keys_of_other_kinds_are_refused(tmp_path: Path) -> None:
    authority.issue(tmp_path, ["localhost"], ["ward-3"])

    assert read_public_key(tmp_path / "clients/ward-3.pub").startswith(b"-----BEGIN PUBLIC KEY-----")
    (tmp_path / "x.pub").write_text(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPJ+gYvFqwDUBd+W1jYKOvdSgbC+D0kuTI5dPb0jQ7Mh x\n"
    )
    for wrong in ("x.pub", "clients/ward-3"):
        with pytest.raises(ConfigError, match="make it with pfedgp key"):
            read_public_key(tmp_path / wrong)


def test_what_the_database_has_from_before_a_restart_is_not_connected(tmp_path: Path) -> None:
    class Restarted:
        def __init__(self) -> None:
            self.heard = {"ward-1": time.time() - 30, "ward-2": time.time() + 30}

        def nodes(self) -> list[SuperNode]:
            return [SuperNode(1, name, True, "", b"", when) for name, when in self.heard.items()]

    control = Restarted()
    said: list[str] = []
    watch = SiteWatch(cast("Control", control), tmp_path, said.append)

    watch._tell()
    watch._tell()
    assert said == ["ward-1 was connected before the restart", "ward-2 connected"]

    control.heard["ward-1"] = time.time() + 1
    watch._tell()
    assert said[2:] == ["ward-1 connected"]
