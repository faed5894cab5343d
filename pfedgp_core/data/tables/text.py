"""The encoding of a text file: UTF-8, UTF-16 or UTF-32, or what Excel writes in Western Europe, and never a guess.

A file of Windows names no code page. Its text is taken for Windows-1252 only where each letter is the same one in the
code page of Central Europe, and stands in a word with plain letters; else the operator says which it is.
"""

import codecs
import re
from typing import BinaryIO

from pfedgp_core.errors import ConfigError
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.words import cut

__all__ = ["WINDOWS", "check_encoding", "text_encoding"]

WINDOWS = "cp1252"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KINDS = (
    (b"PK\x03\x04", "it is a workbook of Excel or another ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "it is an old workbook of Excel"),
    (b"PAR1", "it is Parquet: name it .parquet"),
    (b"\x1f\x8b", "it is packed with gzip: unpack it"),
    (b"%PDF", "it is a PDF document"),
)
_HEAD = 4096  # bytes that are looked at for a kind
_PIECE = 2**20  # bytes at a time
_LINE = 2**24  # bytes of a line
# Letters and signs that Windows-1252 and Windows-1250 have at the same place, and the square of kg/m2, which is common.
_SAME = {
    c
    for byte in range(0x80, 0x100)
    if (c := bytes([byte]).decode(WINDOWS, "ignore")) and c == bytes([byte]).decode("cp1250", "ignore")
} | {"\u00b2"}
_FOREIGN = re.compile(r"[^\W\d_a-zA-Z]{3}")  # three letters beside each other, none of them plain: another script
_TWICE = re.compile("[\u00c2-\u00c5\u00e2][\u0080-\u00bf\u20ac\u201a-\u203a]")  # UTF-8 that was read as Windows-1252


def check_encoding(name: str) -> str:
    """The name of an encoding of text, or empty as it is given; ConfigError where there is no such."""
    if not name:
        return ""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise ConfigError(f"{cut(repr(name), 60)} is no encoding of text: give for example cp1252, latin-1 or utf-16.")
    return found.name


def text_encoding(opened: BinaryIO) -> str:
    """The encoding of a file that is open at its beginning, and stays there.

    Raises
    ------
    MalformedError
        It holds no text, or text of which only a person can say how it is encoded.
    """
    head = opened.read(_HEAD)
    opened.seek(0)
    for begin, what in _KINDS:
        if head.startswith(begin):
            raise MalformedError(what)
    if head.lstrip().lower().startswith((b"<!doctype", b"<html", b"<table")):
        raise MalformedError("it is a web page")
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        return _of_two_bytes(head)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while piece := opened.read(_PIECE):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
        return "utf-8"
    except UnicodeDecodeError:
        opened.seek(0)
        _require_western(opened)
        return WINDOWS
    finally:
        opened.seek(0)


def _of_two_bytes(head: bytes) -> str:
    """UTF-16 without a mark, as some devices write it: every second byte of plain text is zero."""
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[first::2], head[1 - first :: 2]
        if 0 not in others and zeros.count(0) > len(zeros) / 2:
            return name
    raise MalformedError("it holds zero bytes, so it is no text")


def _require_western(opened: BinaryIO) -> None:
    number = 0
    while line := opened.readline(_LINE):
        number += 1
        if line.isascii():
            continue
        text = line.decode(WINDOWS, "replace")
        strange = {c for c in text if not c.isascii()} - _SAME
        if strange or _FOREIGN.search(text) or _TWICE.search(text):
            word = next((w for w in re.findall(r"[^\s,;|\t]+", text) if not w.isascii()), text)
            raise MalformedError(
                f"it is not UTF-8, and line {number} may hold {cut(word, 30)!r}; --encoding says what it is, such as "
                "cp1252 for Western Europe"
            )
