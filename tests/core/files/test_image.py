"""Images of others: known formats alone, bounded, and named where they cannot be decoded."""

import io
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.image import parse_image, read_image
from pfedgp_core.files.regular import MalformedError

PIXELS = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)


def encoded(kind: str, pixels: np.ndarray = PIXELS) -> bytes:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, kind)
    return target.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG whose header claims a size."""
    body = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    chunk = (13).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    return encoded("PNG")[:8] + chunk + encoded("PNG")[33:]


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "TIFF", "PPM", "WEBP", "JPEG"])
def test_known_formats_are_read_whatever_the_name(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(kind))
    assert read_image(tmp_path / "a.png").size == (4, 4)


@pytest.mark.parametrize("kind", ["EPS", "PDF", "ICO", "TGA"])
def test_no_other_format_is_looked_at(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(kind))
    with pytest.raises(UnreadableFileError, match="not an image"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)])
@pytest.mark.filterwarnings("error")
def test_a_bomb_is_refused_before_it_is_decoded(width: int, height: int) -> None:
    with pytest.raises(MalformedError, match="more than 50,000,000 pixels"):
        parse_image(png_of(width, height))


def test_a_cut_or_empty_image_is_named(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    for content in (encoded("PNG", noise)[:200], encoded("JPEG", noise)[:300], b"", b"BM"):
        (tmp_path / "a.png").write_bytes(content)
        with pytest.raises(UnreadableFileError, match=r"a\.png"):
            read_image(tmp_path / "a.png")
