"""``pfedgp key`` and ``pfedgp certs --public-key``: private keys stay at the sites, a server knows the public ones."""

import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.operator.sites import read_public_key
from pfedgp_core.files.keys import read_site_key


def key(folder: Path, name: str = "ward-3", *more: str) -> Path:
    assert main(["key", "--name", name, "--out", str(folder), *more]) == 0
    return folder / f"{name}.pub"


def certs(folder: Path, *options: object) -> int:
    return main(["certs", "--san", "fl.example.org", "--out", str(folder), *map(str, options)])


def secrets(folder: Path) -> list[Path]:
    """Files that hold a private key of a site."""
    return [path for path in folder.rglob("*") if path.is_file() and b"OPENSSH PRIVATE" in path.read_bytes()]


def test_the_pair_belongs_together_and_the_private_key_is_its_owner_s(tmp_path: Path) -> None:
    public = key(tmp_path / "site")
    private = tmp_path / "site/ward-3"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert read_public_key(public).startswith(b"-----BEGIN PUBLIC KEY")
    assert read_site_key(private).public_key().public_numbers().curve.name == "secp384r1"


def test_no_private_key_of_a_site_is_ever_at_the_server(tmp_path: Path) -> None:
    public = [key(tmp_path / name, name) for name in ("ward-3", "ward-7")]
    assert certs(tmp_path / "certs", "--public-key", *public) == 0
    assert secrets(tmp_path / "certs") == []
    registered = tmp_path / "certs/clients"
    assert sorted(path.name for path in registered.iterdir()) == ["ward-3.pub", "ward-7.pub"]
    for file in public:
        assert read_public_key(registered / file.name) == read_public_key(file)


@pytest.mark.parametrize("options", [["--clients", "2"], ["--client-names", "ward-3"]])
def test_names_alone_make_no_keys(tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert certs(tmp_path / "certs", *options) == 2
    assert "--make-keys where one operator does all" in capsys.readouterr().err
    assert not (tmp_path / "certs").exists()
    assert certs(tmp_path / "certs", *options, "--make-keys") == 0
    assert secrets(tmp_path / "certs") != []


def test_the_fingerprint_is_that_of_ssh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = key(tmp_path, "ward-3", "--json")
    mark = json.loads(capsys.readouterr().out)["fingerprint"]
    if program := shutil.which("ssh-keygen"):
        shown = subprocess.run([program, "-l", "-f", str(public)], capture_output=True, text=True, check=True).stdout
        assert mark in shown
    certs(tmp_path / "certs", "--public-key", public)
    assert mark in capsys.readouterr().out


def test_the_same_key_again_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = key(tmp_path)
    certs(tmp_path / "certs", "--public-key", public)
    capsys.readouterr()
    assert certs(tmp_path / "certs", "--public-key", public) == 0
    assert "Nothing to do" in capsys.readouterr().out


def test_rotation_keeps_the_former_pair_and_needs_it_taken_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    public = key(tmp_path / "site")
    certs(tmp_path / "certs", "--public-key", public)
    before = read_public_key(public)
    assert main(["key", "--name", "ward-3", "--out", str(tmp_path / "site")]) == 2
    assert "--rotate" in capsys.readouterr().err
    key(tmp_path / "site", "ward-3", "--rotate")
    assert read_public_key(public) != before
    assert len(secrets(tmp_path / "site")) == 2
    assert certs(tmp_path / "certs", "--public-key", public) == 2
    assert "with another key" in capsys.readouterr().err
    assert main(["certs", "--remove", "ward-3", "--out", str(tmp_path / "certs")]) == 0
    assert certs(tmp_path / "certs", "--public-key", public) == 0
    assert read_public_key(tmp_path / "certs/clients/ward-3.pub") == read_public_key(public)


def test_a_key_that_was_taken_out_is_not_registered_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = key(tmp_path / "site")
    certs(tmp_path / "certs", "--public-key", public)
    main(["certs", "--remove", "ward-3", "--out", str(tmp_path / "certs")])
    assert certs(tmp_path / "certs", "--public-key", public) == 2
    assert "was taken out once" in capsys.readouterr().err


def test_a_key_has_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = key(tmp_path / "site")
    certs(tmp_path / "certs", "--public-key", public)
    shutil.copy(public, tmp_path / "ward-9.pub")
    assert certs(tmp_path / "certs", "--public-key", tmp_path / "ward-9.pub") == 2
    assert "is that of ward-3 already" in capsys.readouterr().err
    assert certs(tmp_path / "other", "--public-key", public, tmp_path / "ward-9.pub") == 2
    assert "a site or a key twice" in capsys.readouterr().err


def test_what_is_no_public_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key(tmp_path / "site")
    wrong = tmp_path / "ward-3.pub"
    shutil.copy(tmp_path / "site/ward-3", wrong)
    for file, said in (
        (tmp_path / "site/ward-3", "not called NAME.pub"),
        (wrong, "it is a private key"),
        (tmp_path / "x.pub", "No such file"),
    ):
        assert certs(tmp_path / "certs", "--public-key", file) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "certs").exists()


@pytest.mark.parametrize("options", [["--make-keys"], ["--make-keys", "--remove", "a"]])
def test_make_keys_is_for_named_sites(tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", "--out", str(tmp_path / "certs"), *options]) == 2
    assert "--make-keys" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../x", "a b", "", "x.pub"])
def test_a_name_that_is_no_file_is_refused(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["key", "--name", name, "--out", str(tmp_path / "site")]) == 2
    assert "cannot be a file name" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
