"""Hostile and damaged files, and the right end of a command that meets one: a sentence, and an exit code."""

import io
import os
import pickle
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from pfedgp.cli import main

DEEP = "[" * 100_000
DIGITS = "9" * 5000
ODD = ("pipe", "loop", "device", "empty")
SETTINGS = {
    "deep": f"rounds = {DEEP}".encode(),
    "digits": f"rounds = {DIGITS}".encode(),
    "hexadecimal": b"rounds = 0x" + b"f" * 5000,
    "infinite": b"learning-rate = inf",
    "nothing": b"learning-rate = nan",
    "list": b"rounds = [1, 2]",
    "table": b"[rounds]\nx = 1",
    "twice": b"rounds = 1\nrounds = 2",
    "dotted": ("a." * 100_000 + "a = 1").encode(),
    "long": b'method = "' + b"x" * 500_000 + b'"',
    "null": b'data-root = "a\\u0000b"\ndataset = "cifar10"',
    "null out": b'out = "a\\u0000b"',
    "latin": 'dataset = "é"'.encode("latin-1"),
    "foreign": b'method = "a.b:C"\na.rate = [1]',
    "broken": b"rounds = = 3",
    "zeros": bytes(1000),
}


def ends(arguments: list[str], code: int, words: str = "") -> str:
    """Run a command in this process and check its end: the exit code, and one sentence; returns what it said."""
    told, printed = io.StringIO(), io.StringIO()
    with redirect_stderr(told), redirect_stdout(printed):
        ended = main(arguments)
    said = told.getvalue() + printed.getvalue()
    assert ended == code, f"{' '.join(arguments)} ended with {ended}, not {code}: {said[-600:]}"
    assert "Unexpected" not in said, said[-600:]
    assert "Traceback" not in said, said[-600:]
    assert len(said) < 20_000, f"{' '.join(arguments)} said {len(said)} characters"
    assert re.search(words, said), f"{words!r} is not in {said[-600:]}"
    return said


def odd_files(folder: Path, suffix: str) -> Iterator[Path]:
    """What may stand where a file is expected: a pipe, a folder, a link to itself, a device, an empty file."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ODD:
        yield made_odd(folder / f"{kind}{suffix}", kind)


def made_odd(path: Path, kind: str) -> Path:
    """Put one of these in the place of a file."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "empty":
        path.touch()
    else:
        path.symlink_to(path if kind == "loop" else "/dev/zero")
    return path


@contextmanager
def without_rights(*paths: Path) -> Iterator[None]:
    """Take all rights from paths for a while; root, who needs none, becomes nobody."""
    modes = [path.stat().st_mode for path in paths]
    for path in paths:
        path.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path, mode in zip(paths, modes, strict=True):
            path.chmod(mode)


def unreadable(folder: Path) -> None:
    """Give files and folders without rights to commands that would read them."""
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent.name.startswith(("pytest-", "guarded-", folder.name)):
            parent.chmod(0o755)  # for nobody to come as far as here
    table, settings, closed, run = folder / "a.csv", folder / "s.toml", folder / "closed", folder / "run"
    table.write_text("a,label\n1,x\n2,y\n")
    settings.write_text("rounds = 0\n")
    for path in (closed / "cat", run):
        path.mkdir(parents=True)
    (run / "config.toml").write_text("rounds = 1\n")
    commands = [
        (["check-data", str(table)], 2),
        (["check-data", str(closed)], 2),
        (["check-data", str(closed / "a.csv")], 2),
        (["simulate", "--config", str(settings)], 2),
        (["report", str(run)], 1),
        (["resume", str(run)], 1),
    ]
    # Loads the modules of the commands, which nobody may not be able to.
    for command in (*(command for command, _ in commands[:5]), ["resume", str(closed)]):
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
            main(command)
    with without_rights(table, settings, closed, run / "config.toml"):
        for command, code in commands:
            ends(command, code, "Permission denied")
    with without_rights(run):
        ends(["report", str(run)], 1, "Permission denied")
        ends(["resume", str(run)], 1, "Permission denied")


def member(shape: str, dtype: str = "'<f8'", version: bytes = b"\x01\0", data: bytes = b"") -> bytes:
    """An array whose header says what it likes."""
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(header)) + header + data


def _zipped(content: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        file.writestr("inputs.npy", content)
        labels = io.BytesIO()
        np.save(labels, np.arange(2))
        file.writestr("labels.npy", labels.getvalue())
    return target.getvalue()


def archives() -> dict[str, bytes]:
    """Hostile ``.npz`` files."""
    whole = _zipped(member("(2, 2)", data=bytes(32)))
    locked = bytearray(whole)
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    texts = io.BytesIO()
    np.savez(texts, inputs=np.eye(2), labels=np.array([DIGITS, "1"]), class_names=["a", "b"])
    return {
        "huge": _zipped(member("(10000000000000, 10)", data=bytes(32))),
        "endless": _zipped(member("(1000000000000000000, 0)")),
        "negative": _zipped(member("(-2, 2)", data=bytes(32))),
        "objects": _zipped(member("(2,)", "'|O'", data=pickle.dumps([os.system, 1]))),
        "version 9": _zipped(member("(2, 2)", version=b"\x09\0", data=bytes(32))),
        "deep": _zipped(member("(" * 3000)),
        "bomb": _zipped(bytes(10**8), zipfile.ZIP_DEFLATED),
        "locked": bytes(locked),
        "cut": whole[: len(whole) // 2],
        "digits": texts.getvalue(),
        "text": b"a,b\n1,2\n",
    }


def tables() -> dict[str, bytes]:
    """Hostile ``.csv`` files."""
    return {
        "nulls": b"a,b,label\n1,\0,x\n",
        "wide": (",".join(map(str, range(20_000))) + "\n").encode(),
        "long field": b"a,label\n" + b"1" * 5_000_000 + b",x\n",
        "long name": b"a" * 1_000_000 + b",label\n1,x\nz,y\n",
        "no end": b"a" * 20_000_000,
        "utf-16": "a,label\n1,x\n".encode("utf-16")[:-1],
        "latin": "a,label\n1,\xa5\n".encode("latin-1"),
        "infinite": b"a,label\ninf,x\n1e999,y\n",
        "digits": f"a,label\n{DIGITS},x\n{DIGITS},y\n".encode(),
        "open quote": b'a,label\n"1,x\n' + b"2,y\n" * 100_000,
    }


def images() -> dict[str, bytes]:
    """Hostile images, all to be named ``.png``."""

    def claimed(width: int, height: int) -> bytes:
        body = b"IHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
        return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body)) + bytes(100)

    return {
        "bomb": claimed(60_000, 60_000),
        "large": claimed(2**31 - 1, 2**31 - 1),
        "cut": claimed(8, 8)[:40],
        "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) print\n%%EOF\n",
        "text": b"no image",
        "empty": b"",
    }
