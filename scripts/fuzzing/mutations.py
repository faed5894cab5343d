"""Random changes of files: of any bytes, and of values inside JSON, TOML, tables, numpy, safetensors, PNG and PEM."""

import base64
import io
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

__all__ = [
    "Mutation",
    "changed_bytes",
    "changed_json",
    "changed_lines",
    "changed_npz",
    "changed_pem",
    "changed_png",
    "changed_tensors",
]

Mutation = Callable[[random.Random, bytes], bytes]

# Texts of JSON that no honest writer makes, beside values of the wrong type.
_MARKS = ("NaN", "-Infinity", "1e999", "9" * 5000, "[" * 3000, '{"a":' * 3000, "[" * 60 + "]" * 60, '"\\ud800"')
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, -(10**30), 0.5, -0.0, 1e308, 1e-320),
    *("", "x", "\0", "../../etc/passwd", "x" * 10_000, "\ufeff", "=1+1", "nan", "1" * 400),
    *([], [[]], {}, {"": ""}, [None], [1, "a"], {"a": [1]}, [0] * 1000),
)
_TEXTS = (
    *("nan", "-inf", "1e999", "9" * 5000, "", '"', "\0", "x" * 200_000, "=1", "\ufeff", "\r", ",", ";" * 50, "é"),
    *("1_0", "0x1", "True", "x" * 5000),
)
_STARTS = (".".join("ab" * 500), "[" * 2000, "[[a]]", "a.b = 1", '"a" = 1', "[a.b.c]")
_TOML = (
    *("nan", "inf", "-inf", "1e999", "9" * 5000, "0x" + "f" * 5000, "true", "[]", "{}", "[" * 2000, "{a={a=1}}", "'"),
    *('"' + "x" * 100_000 + '"', '"\\u0000"', "1979-05-27", "25:61:00", '"""', "-1", "0", "1.5", "'a:b'"),
)
_SHAPES = ("(10000000000000,)", "(-1,)", "(0, 10000000000000000)", "(3,)", "()", "(1,2,", "(" * 300, "(2.5,)")
_TYPES = ("'<f8'", "'|O'", "'<U1000000000'", "'<U0'", "'<M8[s]'", "[('a', '<i4')]", "'|V0'", "'x'", "None")


def changed_bytes(rng: random.Random, content: bytes) -> bytes:
    """Flip, cut, insert, repeat, remove or overwrite some bytes."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = rng.randbytes(rng.choice((1, 4, 100)))
        elif kind == 3:
            data[at:at] = data[at : at + rng.randrange(1, 200)]
        elif kind == 4:
            del data[at : at + rng.randrange(1, 50)]
        elif kind == 5:
            data[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1)))
        else:
            data[at : at + 8] = struct.pack("<Q", rng.choice((0, 2**40, 2**63 - 1, 2**64 - 1)))
    return bytes(data)


def changed_json(rng: random.Random, content: bytes) -> bytes:
    """Replace, remove, add or repeat values and keys at random places."""
    document = json.loads(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        document = _replaced(rng, document)
    text = json.dumps(document)
    kind = rng.randrange(10)
    if kind == 0:  # what json.dumps does not write
        places = [match.span() for match in re.finditer(r"-?\d+(\.\d+)?|null|true|false", text)]
        if places:
            start, end = rng.choice(places)
            text = text[:start] + rng.choice(_MARKS) + text[end:]
    elif kind == 1 and (keys := list(re.finditer(r'"(\w+)": ', text))):
        key = rng.choice(keys)
        text = text[: key.start()] + f'"{key[1]}": 0, ' + text[key.start() :]
    return text.encode()


def _replaced(rng: random.Random, document: Any) -> Any:
    places: list[tuple[Any, Any]] = []
    level = [document] if isinstance(document, dict | list) else []
    while level:
        value = level.pop()
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))[:50]
        for key, child in items:
            places.append((value, key))
            if isinstance(child, dict | list):
                level.append(child)
    if not places or rng.random() < 0.02:
        return _value(rng)
    holder, key = rng.choice(places)
    kind = rng.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice(("x", "", "x" * 5000, "__class__"))] = _value(rng)
    elif kind == 2:
        source, where = rng.choice(places)
        holder[key] = json.loads(json.dumps(source[where]))
    else:
        holder[key] = _value(rng)
    return document


def _value(rng: random.Random) -> Any:
    return json.loads(json.dumps(rng.choice(_VALUES)))


def changed_lines(rng: random.Random, content: bytes) -> bytes:
    """Replace what stands between the separators of a table or the value of a line of TOML; swap or repeat lines."""
    lines = content.decode(errors="replace").split("\n")
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif kind == 1:
            del lines[at : at + rng.randrange(1, 3)]
            lines = lines or [""]
        elif kind == 2 and "=" in lines[at]:
            lines[at] = lines[at].split("=")[0] + "= " + rng.choice(_TOML)
        elif kind == 3:
            lines[at] = rng.choice(_STARTS) + lines[at]
        else:
            cells = re.split(r"([,;=])", lines[at])
            cells[rng.randrange(len(cells))] = rng.choice(_TEXTS)
            lines[at] = "".join(cells)
    return "\n".join(lines).encode(rng.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16")), "surrogatepass")


def changed_npz(rng: random.Random, content: bytes) -> bytes:
    """Write an array's header anew with a shape, type or version that lies; mark members as encrypted."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(target, "w") as archive:
        members = [(info.filename, source.read(info)) for info in source.infolist()]
        victim = rng.randrange(len(members))
        for i, (name, data) in enumerate(members):
            written = _lying(rng, data) if i == victim else data
            archive.writestr(name, written, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    result = bytearray(target.getvalue())
    if rng.random() < 0.2:
        for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = result.find(mark)
            result[at + offset] |= 1
    return bytes(result)


def _lying(rng: random.Random, data: bytes) -> bytes:
    shape, dtype = rng.choice(_SHAPES), rng.choice(_TYPES)
    order = rng.choice(("False", "True", "1"))
    header = f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    if rng.random() < 0.5:
        return changed_bytes(rng, data)
    version = rng.choice(((1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (9, 0)))
    length = struct.pack("<H" if version[0] == 1 else "<I", rng.choice((len(header), len(header), 0, 60_000)))
    return b"\x93NUMPY" + bytes(version) + length + header + data[128:]


def changed_tensors(rng: random.Random, content: bytes) -> bytes:
    """Change the JSON header of a safetensors file, or the length that it claims."""
    length = int.from_bytes(content[:8], "little")
    header = changed_json(rng, content[8 : 8 + length])
    claimed = rng.choice((len(header),) * 8 + (0, 2**40, 2**64 - 1, len(header) - 1))
    return claimed.to_bytes(8, "little") + header + content[8 + length :]


def changed_png(rng: random.Random, content: bytes) -> bytes:
    """Change the content of a chunk and write its checksum anew."""
    chunks, at = [], 8
    while at + 8 <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        chunks.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + length]))
        at += 12 + length
    victim = rng.randrange(len(chunks))
    kind, body = chunks[victim]
    chunks[victim] = kind, changed_bytes(rng, body)
    if rng.random() < 0.1:
        chunks.insert(1, (b"zTXt", b"k\0\0" + zlib.compress(bytes(10**7))))
    parts = [len(b).to_bytes(4, "big") + k + b + zlib.crc32(k + b).to_bytes(4, "big") for k, b in chunks]
    return content[:8] + b"".join(parts)


def changed_pem(rng: random.Random, content: bytes) -> bytes:
    """Change the bytes that a PEM file encodes, or the words around them."""
    found = re.search(rb"(-----BEGIN [^-]+-----)(.+?)(-----END [^-]+-----)", content, re.DOTALL)
    if found is None or rng.random() < 0.2:
        return changed_bytes(rng, content)
    if rng.random() < 0.2:
        other = rng.choice((b"CERTIFICATE", b"PRIVATE KEY", b"EC PRIVATE KEY", b"PUBLIC KEY", b"OPENSSH PRIVATE KEY"))
        return content.replace(re.findall(rb"BEGIN ([^-]+)", content)[0], other)
    body = changed_bytes(rng, base64.b64decode(b"".join(found[2].split())))
    return content[: found.start(2)] + b"\n" + base64.encodebytes(body) + content[found.start(3) :]
