"""DICOM images as samples: rescaled, through a window, never inverted, by patient, and no header leaves the reader."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.errors import ConfigError
from tests.data_files import refused

pydicom = pytest.importorskip("pydicom")
FILES = Path(pydicom.__file__).parent / "data" / "test_files"
PIXELS = np.random.default_rng(0).integers(0, 4096, (4, 8, 6), dtype=np.uint16)
SLICES = Layout(pages="slices")


def scan(path: Path, pixels: np.ndarray, **changes: Any) -> Path:
    """A DICOM file of 12 bits in 16."""
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    own = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    own.SOPClassUID, own.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    own.Rows, own.Columns = pixels.shape[-2:]
    own.NumberOfFrames = pixels.shape[0] if pixels.ndim == 3 else 1
    own.SamplesPerPixel, own.PhotometricInterpretation = 1, "MONOCHROME2"
    own.BitsAllocated, own.BitsStored, own.HighBit = 16, 12, 11
    own.PixelRepresentation = int(pixels.dtype.kind == "i")
    own.PixelData = pixels.tobytes()
    for key, value in changes.items():
        setattr(own, key, value)
    path.parent.mkdir(parents=True, exist_ok=True)
    own.save_as(path)
    return path


def scans(root: Path, suffix: str = ".dcm", **changes: Any) -> Path:
    for i, pixels in enumerate(PIXELS):
        scan(root / ("ill", "well")[i % 2] / f"{i}{suffix}", pixels, PatientID=f"P{i // 2}", **changes)
    return root


def test_stored_values_without_a_unit_are_16_bits(tmp_path: Path) -> None:
    samples = read_samples(scans(tmp_path))
    assert samples.value_range == "0..65535"
    np.testing.assert_array_equal(samples.inputs[:, 0], np.float32(PIXELS[[0, 2, 1, 3]]) / 65535)
    assert samples.ids == ("ill/0.dcm", "ill/2.dcm", "well/1.dcm", "well/3.dcm")


def test_a_file_of_a_scanner_needs_no_ending(tmp_path: Path) -> None:
    assert len(read_samples(scans(tmp_path, suffix=".2.840.113"))) == 4
    (tmp_path / "ill" / "DICOMDIR").write_bytes((tmp_path / "ill" / "0.2.840.113").read_bytes())
    assert len(read_samples(tmp_path)) == 4


def test_rescaled_values_are_of_a_unit(tmp_path: Path) -> None:
    samples = read_samples(scans(tmp_path, RescaleSlope=2, RescaleIntercept=-1024))
    assert samples.value_range == "open"
    np.testing.assert_array_equal(samples.inputs[:, 0], np.float32(PIXELS[[0, 2, 1, 3]]) * 2 - 1024)


def test_a_window_makes_shares_as_dicom_defines_it(tmp_path: Path) -> None:
    root = scans(tmp_path, RescaleSlope=1, RescaleIntercept=-1024)
    samples = read_samples(root, layout=Layout(window="40,400"))
    assert samples.value_range == "0..1"
    values = PIXELS[[0, 2, 1, 3]].astype(float) - 1024
    wanted = np.where(values <= 39.5 - 199.5, 0, np.where(values > 39.5 + 199.5, 1, (values - 39.5) / 399 + 0.5))
    np.testing.assert_allclose(samples.inputs[:, 0], wanted, atol=1e-6)
    with pytest.raises(ConfigError, match="such as 40,400"):
        read_samples(root, layout=Layout(window="40"))


@pytest.mark.parametrize("signed", [False, True])
def test_monochrome1_is_turned(signed: bool, tmp_path: Path) -> None:
    stored = (PIXELS.astype(np.int16) - 2048) if signed else PIXELS
    for i, pixels in enumerate(stored):
        scan(tmp_path / "one" / f"{i}.dcm", pixels, PhotometricInterpretation="MONOCHROME1")
    turned = -1 - stored if signed else 4095 - stored
    np.testing.assert_array_equal(
        read_samples(tmp_path).inputs[:, 0], turned.astype(np.float32) / (1 if signed else 65535)
    )


def test_frames_are_pages(tmp_path: Path) -> None:
    scan(tmp_path / "ill" / "a.dcm", PIXELS)
    assert "ill/a.dcm has 4" in refused(tmp_path)
    samples = read_samples(tmp_path, layout=SLICES)
    assert samples.ids == tuple(f"ill/a.dcm#{i}" for i in range(1, 5))
    assert read_samples(tmp_path, layout=Layout(pages="channels")).inputs.shape == (1, 4, 8, 6)


def test_patients_are_groups_where_the_user_asks(tmp_path: Path) -> None:
    samples = read_samples(scans(tmp_path), layout=Layout(group_column="PatientID"))
    assert samples.groups == ("P0", "P1", "P0", "P1")
    assert read_samples(tmp_path).groups is None
    assert "No group for 4 of 4 images" in refused(tmp_path, layout=Layout(group_column="StudyID"))


def test_without_pydicom_the_kind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = scans(tmp_path)
    monkeypatch.setitem(sys.modules, "pydicom", None)
    assert "ill/0.dcm (this is DICOM; install pfedgp[dicom])" in refused(root)


def test_no_word_of_a_header_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = scans(tmp_path, PatientName="Secret^Name", BitsStored=12)
    scan(root / "ill" / "bad.dcm", PIXELS[0], PatientName="Secret^Name", PixelData=b"\0\1")
    scan(root / "ill" / "odd.dcm", PIXELS[0], PhotometricInterpretation="SECRET", PatientName="Secret^Name")
    assert main(["check-data", str(root)]) == 2
    said = "".join(capfd.readouterr())
    assert "a damaged DICOM file" in said
    assert "secret" not in said.lower()


@pytest.mark.parametrize(
    ("name", "name_of_range", "shape"),
    [
        ("CT_small.dcm", "open", (1, 128, 128)),
        ("MR_small.dcm", "0..65535", (1, 64, 64)),
        ("MR_small_RLE.dcm", "0..65535", (1, 64, 64)),
        ("MR_small_bigendian.dcm", "0..65535", (1, 64, 64)),
        ("examples_rgb_color.dcm", "0..255", (3, 240, 320)),
        ("SC_rgb_small_odd.dcm", "0..255", (3, 3, 3)),
    ],
)
def test_pydicom_s_own_files(name: str, name_of_range: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes((FILES / name).read_bytes())
    samples = read_samples(tmp_path)
    assert samples.value_range == name_of_range
    assert samples.inputs.shape[1:] == shape
    expected = pydicom.dcmread(FILES / name)
    raw = expected.pixel_array.astype(np.float64)
    if name == "CT_small.dcm":
        raw = raw * float(expected.RescaleSlope) + float(expected.RescaleIntercept)
    raw = raw[None] if raw.ndim == 2 else raw.transpose(2, 0, 1)
    scale = 65535 if name_of_range == "0..65535" else 1
    np.testing.assert_allclose(samples.inputs[0] * scale, raw, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rtplan.dcm", "a DICOM file without an image"),
        ("examples_palette.dcm", "colours in a palette"),
        ("SC_rgb_rle_16bit.dcm", "more than 8 bits each"),
        ("MR_small_jpeg_ls_lossless.dcm", "packed as JPEG-LS"),
        ("MR_truncated.dcm", "a damaged DICOM file"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes((FILES / name).read_bytes())
    assert said in check_data(tmp_path).problems[0]
