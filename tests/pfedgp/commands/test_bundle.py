"""Bundles: a site onboards itself from a signed file, and refuses whatever the key's owner has not signed."""

import functools
import http.server
import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pfedgp.bundles.signing import HEAD, MAGIC
from pfedgp.cli import main
from tests.published_model import save_digits, save_digits_model


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, its bundle, the keys, and a site's data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PFEDGP_DEBUG", raising=False)
    save_digits_model(tmp_path / "run")
    save_digits(tmp_path / "data.npz", (3, 5))
    for name in ("ours", "theirs"):
        assert main(["bundle", "--new-key", name]) == 0
    assert main(["bundle", "run/best", "--key", "ours", "--out", "model.bundle"]) == 0
    return tmp_path


def onboard(*options: str) -> int:
    return main(["onboard", "--data", "data.npz", "--out", "site", *options])


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    capsys.readouterr()
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert not Path("site").exists()
    return err


def test_a_site_from_a_bundle_has_the_bits_of_one_from_the_folder(here: Path) -> None:
    assert onboard("--model", "model.bundle", "--key", "ours.pub") == 0
    shutil.move("site", "other")
    assert onboard("--model", "run/best", "--name", "site") == 0
    assert Path("site/site.safetensors").read_bytes() == Path("other/site.safetensors").read_bytes()


def test_the_key_is_its_owners_alone_and_is_never_replaced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert stat.S_IMODE(Path("ours").stat().st_mode) == 0o600
    assert "is there already" in refused(capsys, "bundle", "--new-key", "ours")
    Path("ours").chmod(0o644)
    assert "Other users of this machine may read the key" in refused(capsys, "bundle", "run/best", "--key", "ours")


def test_a_bundle_of_another_key_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("onboard", "--data", "data.npz", "--out", "site", "--model", "model.bundle", "--key", "theirs.pub")
    assert "is signed with the key" in refused(capsys, *argv)


@pytest.mark.parametrize("place", [len(MAGIC) + 32, HEAD - 1, HEAD, HEAD + 20, -1])
def test_any_changed_byte_is_refused(place: int, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytearray(Path("model.bundle").read_bytes())
    content[place] ^= 1
    Path("model.bundle").write_bytes(content)
    argv = ("onboard", "--data", "data.npz", "--out", "site", "--model", "model.bundle", "--key", "ours.pub")
    assert "was changed or cut after it was signed" in refused(capsys, *argv)


@pytest.mark.parametrize("kept", [0, 5, len(MAGIC), HEAD - 1, HEAD, HEAD + 1, -1])
def test_what_was_cut_is_refused(kept: int, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.bundle").write_bytes(Path("model.bundle").read_bytes()[:kept])
    argv = ("onboard", "--data", "data.npz", "--out", "site", "--model", "model.bundle", "--key", "ours.pub")
    assert "model.bundle" in refused(capsys, *argv)


def test_another_signer_who_writes_our_key_into_the_bundle_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", "run/best", "--key", "theirs", "--out", "theirs.bundle"]) == 0
    ours, theirs = Path("model.bundle").read_bytes(), Path("theirs.bundle").read_bytes()
    key = slice(len(MAGIC), len(MAGIC) + 32)
    Path("model.bundle").write_bytes(theirs[: key.start] + ours[key] + theirs[key.stop :])
    argv = ("onboard", "--data", "data.npz", "--out", "site", "--model", "model.bundle", "--key", "ours.pub")
    assert "was changed or cut" in refused(capsys, *argv)


def test_nothing_is_parsed_before_the_signature(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    monkeypatch.setattr("pfedgp.run_model.load_model", lambda path: parsed.append(str(path)))
    argv = ("onboard", "--data", "data.npz", "--out", "site", "--model", "model.bundle", "--key", "theirs.pub")
    refused(capsys, *argv)
    assert parsed == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "model.bundle"), "give the public key of the one who signed it with --key"),
        (("--key", "ours.pub"), "give its file or address with --model"),
        (("--model", "model.bundle", "--key", "ours"), "it is a private key"),
        (("--model", "model.bundle", "--key", "none.pub"), "cannot verify"),
        (("--model", "model.bundle", "--key", "data.npz"), "cannot verify"),
        (("--model", "none.bundle", "--key", "ours.pub"), "There is no bundle at none.bundle"),
        (("--model", "data.npz", "--key", "ours.pub"), "is no bundle"),
        (("--model", "run", "--key", "ours.pub"), "it is a folder"),
        (("--model", "http://127.0.0.1:1/x", "--key", "ours.pub"), "cannot be had"),
    ],
)
def test_mistakes_of_a_site_are_a_sentence(
    options: tuple[str, ...], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, "onboard", "--data", "data.npz", "--out", "site", *options)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("run/best",), "with --key"),
        (("run/best", "--key", "ours.pub"), "cannot sign"),
        (("run", "--key", "ours"), "no model in run"),
        (("model.bundle", "--key", "ours"), "if it is a bundle, give it to pfedgp onboard or check-data"),
        (("run/best", "--new-key", "x"), "nothing else"),
    ],
)
def test_mistakes_of_the_one_who_signs_are_a_sentence(
    argv: tuple[str, ...], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, "bundle", *argv)


@pytest.fixture
def address(here: Path) -> Iterator[str]:
    """Of a web server on this machine that serves the folder."""

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

    handler = functools.partial(Silent, directory=str(here))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_site_from_an_address(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    argv = ("onboard", "--data", "data.npz", "--out", "site", "--key", "ours.pub", "--model")
    assert "cannot be had (File not found)" in refused(capsys, *argv, f"{address}/none.bundle")
    assert onboard("--key", "ours.pub", "--model", f"{address}/model.bundle") == 0


def test_data_are_compared_with_the_model_of_a_bundle(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", "data.npz", "--model", "run/best"]) == 0
    of_folder = capsys.readouterr().out
    assert main(["check-data", "data.npz", "--model", "model.bundle", "--key", "ours.pub"]) == 0
    assert capsys.readouterr().out == of_folder


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "model.bundle"), "model.bundle is a bundle: give the public key of the one who signed it"),
        (("--key", "ours.pub"), "give its file or address with --model"),
        (("--model", "model.bundle", "--key", "theirs.pub"), "model.bundle"),
    ],
)
def test_a_bundle_without_its_key_is_compared_with_nothing(
    options: tuple[str, ...], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused(capsys, "check-data", "data.npz", *options)
