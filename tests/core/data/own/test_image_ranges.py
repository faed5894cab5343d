"""Images of more than 8 bits, of floating point and of a unit: read with their range, another one refused."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp.cli import main
from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.reader import check_data, read_samples
from tests.data_files import IMAGES, NAMES, folder, refused

SHARES = (IMAGES / 255).astype(np.float32)


def archive(path: Path, images: np.ndarray) -> Path:
    np.savez(path, images=images, labels=np.array(NAMES))
    return path


@pytest.mark.parametrize(
    ("images", "name", "read"),
    [
        (IMAGES, "0..255", IMAGES),
        (IMAGES.astype(np.int64), "0..255", IMAGES),
        (IMAGES.astype(np.float32), "0..255", IMAGES.astype(np.float32) / 255),
        (SHARES, "0..1", SHARES),
        (IMAGES.astype(np.uint16) * 12, "0..65535", np.float32(IMAGES.astype(np.uint16) * 12) / 65535),
        (IMAGES.astype(np.int16) * 8 - 1024, "open", IMAGES.astype(np.float32) * 8 - 1024),
    ],
)
def test_arrays_are_read_with_their_range(images: np.ndarray, name: str, read: np.ndarray, tmp_path: Path) -> None:
    samples = read_samples(archive(tmp_path / "a.npz", images))
    assert samples.value_range == name
    assert samples.inputs.dtype == read.dtype
    np.testing.assert_array_equal(samples.inputs[:, 0], read)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_16_bits_in_files_are_kept(suffix: str, tmp_path: Path) -> None:
    deep = IMAGES.astype(np.uint16) * 200
    for i, (image, name) in enumerate(zip(deep, NAMES, strict=True)):
        (tmp_path / name).mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / name / f"{i}.{suffix}")
    samples = read_samples(tmp_path)
    assert samples.value_range == "0..65535"
    np.testing.assert_array_equal(samples.inputs[:, 0], deep.astype(np.float32) / 65535)
    assert "values from 0 to 65,535" in check_data(tmp_path).text()


def test_floating_point_in_files_is_read_as_it_is(tmp_path: Path) -> None:
    for i, (image, name) in enumerate(zip(SHARES - 0.1, NAMES, strict=True)):
        (tmp_path / name).mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / name / f"{i}.tif")
    samples = read_samples(tmp_path)
    assert samples.value_range == "open"
    np.testing.assert_array_equal(samples.inputs[:, 0], SHARES - np.float32(0.1))


def test_images_of_another_range_than_the_model_are_refused_by_name(tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", SHARES)
    said = refused(file, layout=Layout(model_range="0..255"))
    assert "values from 0 to 1, as of the range 0..1" in said
    assert "the model takes values from 0 to 255" in said
    assert "--value-range 0..255" in said
    assert "8 bits" in refused(archive(tmp_path / "b.npz", IMAGES), layout=Layout(model_range="0..1"))


def test_a_range_that_is_said_counts_where_all_values_are_in_it(tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", SHARES)
    assert read_samples(file, layout=Layout(value_range="0..255", model_range="0..255")).inputs.max() <= 1 / 255
    assert "leave the option out" in refused(file, layout=Layout(value_range="open", model_range="0..255"))
    assert "not all in --value-range 0..1" in refused(
        archive(tmp_path / "b.npz", IMAGES), layout=Layout(value_range="0..1")
    )


def test_files_of_several_kinds_of_numbers_are_a_problem(tmp_path: Path) -> None:
    Image.fromarray(IMAGES[0].astype(np.uint16) * 200).save(folder(tmp_path) / "dog" / "deep.png")
    assert "6 of 8 bits, 1 of 16 bits" in refused(tmp_path)


def test_what_pillow_would_cut_or_invert_is_refused(tmp_path: Path) -> None:
    folder(tmp_path)
    deep = Image.fromarray(IMAGES[0].astype(np.uint16) * 200)
    deep.save(tmp_path / "dog" / "white.tif", tiffinfo={262: 0})
    (tmp_path / "dog" / "colour.png").write_bytes(png_of_16_bit_colours())
    said = refused(tmp_path)
    assert "white is zero" in said
    assert "16 bits for each colour" in said


def png_of_16_bit_colours() -> bytes:
    """An image of one pixel, which Pillow can read and not write."""
    import struct
    import zlib

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    data = zlib.compress(b"\0" + bytes(range(6)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_deep_images_are_resized_in_floating_point(tmp_path: Path) -> None:
    deep = np.full((6, 8, 6), 40_000, np.uint16)
    samples = read_samples(archive(tmp_path / "a.npz", deep), input_shape=(3, 4, 4), resize=True)
    assert samples.inputs.shape == (6, 3, 4, 4)
    np.testing.assert_allclose(samples.inputs, 40_000 / 65535, rtol=1e-6)


def test_nan_in_an_image_is_a_problem(tmp_path: Path) -> None:
    broken = SHARES.copy()
    broken[2, 0, 0] = np.nan
    assert "NaN or infinity in 1 of 6 samples (the first is row 3)" in refused(archive(tmp_path / "a.npz", broken))


def test_check_data_states_the_range(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-data", str(archive(tmp_path / "a.npz", SHARES))]) == 0
    said = capsys.readouterr().out
    assert "each of shape 1 x 8 x 6, values from 0 to 1" in said
    assert "if another range is meant, give --value-range" in said
