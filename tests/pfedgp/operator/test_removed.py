"""Sites that are taken out: what happens to their keys, what a server does, and how a name comes back."""

import stat
from pathlib import Path
from typing import cast

import pytest

from pfedgp.cli import main
from pfedgp.operator.authority import issue
from pfedgp.operator.control import Control, SuperNode
from pfedgp.operator.removed import removed_keys
from pfedgp.operator.sites import SiteWatch, read_public_key


class Server:
    """What `SiteWatch` needs of a server: nodes by public key, PEM."""

    def __init__(self) -> None:
        self.known: dict[bytes, SuperNode] = {}
        self.unregistered: list[str] = []

    def nodes(self) -> list[SuperNode]:
        return list(self.known.values())

    def register(self, public_key: bytes, name: str) -> bool:
        new = public_key not in self.known
        self.known.setdefault(public_key, SuperNode(len(self.known) + 1, name, False, "", public_key))
        return new

    def unregister(self, node_id: int) -> None:
        key = next(key for key, node in self.known.items() if node.node_id == node_id)
        self.unregistered.append(self.known.pop(key).name)


@pytest.fixture
def certs(tmp_path: Path) -> Path:
    issue(tmp_path / "certs", ["localhost"], ["ward-1", "ward-2"])
    return tmp_path / "certs"


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def remove(certs: Path, *sites: str) -> int:
    return main(["certs", "--remove", *sites, "--out", str(certs)])


def test_the_private_key_goes_and_the_public_one_says_whom_the_server_must_forget(
    certs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    public = read_public_key(certs / "clients/ward-1.pub")
    assert remove(certs, "ward-1") == 0
    assert names(certs / "clients") == ["removed/ward-1-1.pub", "ward-2", "ward-2.pub"]
    assert [read_public_key(path) for path in removed_keys(certs / "clients")] == [public]
    assert stat.S_IMODE((certs / "clients/removed").stat().st_mode) == 0o700
    assert "Taken out: ward-1." in capsys.readouterr().out


def test_a_site_that_is_not_there_is_named_and_nothing_is_changed(
    certs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = names(certs)
    assert remove(certs, "ward-1", "ward-9") == 2
    assert "no key of the site 'ward-9' to remove: there are ward-1, ward-2." in capsys.readouterr().err
    assert names(certs) == before


@pytest.mark.parametrize("more", [("--san", "x.example.org"), ("--days", "9"), ("--renew-server",)])
def test_it_goes_with_nothing_else(certs: Path, more: tuple[str, ...]) -> None:
    assert main(["certs", "--remove", "ward-1", *more, "--out", str(certs)]) == 2
    assert "clients/ward-1.pub" in names(certs)


def test_a_server_that_runs_forgets_the_key_and_takes_a_new_one_of_the_same_name(certs: Path) -> None:
    server, said = Server(), list[str]()
    watch = SiteWatch(cast("Control", server), certs / "clients", said.append)
    watch._take_out(), watch._register()
    remove(certs, "ward-1")
    watch._take_out(), watch._register()
    issue(certs, [], ["ward-1"])
    watch._take_out(), watch._register()
    assert server.unregistered == ["ward-1"]
    assert said == [
        "registered ward-1, ward-2",
        "ward-1 is taken out: its key is refused from now on",
        "registered ward-1",
    ]
    assert sorted(node.name for node in server.nodes()) == ["ward-1", "ward-2"]
    remove(certs, "ward-1")
    assert names(certs / "clients/removed") == ["ward-1-1.pub", "ward-1-2.pub"]


def test_a_server_that_was_off_meanwhile_forgets_the_key_when_it_starts(certs: Path) -> None:
    server, said = Server(), list[str]()
    SiteWatch(cast("Control", server), certs / "clients", said.append)._register()
    remove(certs, "ward-2")
    restarted = SiteWatch(cast("Control", server), certs / "clients", said.append)
    restarted._take_out(), restarted._register()
    assert [node.name for node in server.nodes()] == ["ward-1"]
