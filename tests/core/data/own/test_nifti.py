"""NIfTI volumes as slices: in one orientation, with the header's scale, and bounded before they are unpacked."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.files.nifti import read_nifti
from tests.data_files import refused

nibabel = pytest.importorskip("nibabel")
VOLUME = np.random.default_rng(0).integers(-1024, 3000, (6, 8, 4)).astype(np.int16)  # right, front, up
SLICES = Layout(pages="slices")


def volume(path: Path, values: np.ndarray = VOLUME, affine: np.ndarray | None = None, kind: str = "Nifti1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(getattr(nibabel, f"{kind}Image")(values, np.eye(4) if affine is None else affine), path)
    return path


def volumes(root: Path) -> Path:
    for i, name in enumerate(("ill", "ill", "well")):
        volume(root / name / f"{i}.nii.gz", VOLUME + np.int16(i))
    return root


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
@pytest.mark.parametrize("kind", ["Nifti1", "Nifti2"])
def test_slices_from_feet_to_head_with_the_front_above(ending: str, kind: str, tmp_path: Path) -> None:
    slices, scaled = read_nifti(volume(tmp_path / f"a{ending}", kind=kind), 0)
    np.testing.assert_array_equal(slices, VOLUME.transpose(2, 1, 0)[:, ::-1])
    assert slices.dtype == np.int16
    assert not scaled


def test_another_orientation_gives_the_same_slices(tmp_path: Path) -> None:
    turned = np.diag([-1.0, 1, -1, 1])
    turned[:3, 3] = 5, 0, 3
    other = volume(tmp_path / "a.nii", VOLUME[::-1, :, ::-1], turned)
    np.testing.assert_array_equal(read_nifti(other, 0)[0], read_nifti(volume(tmp_path / "b.nii"), 0)[0])
    swapped = np.eye(4)
    swapped[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    third = volume(tmp_path / "c.nii", VOLUME.transpose(1, 2, 0), swapped)
    np.testing.assert_array_equal(read_nifti(third, 0)[0], read_nifti(other, 0)[0])


def test_the_scale_of_the_header(tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(VOLUME.astype(np.float32) / 3, np.eye(4))
    image.set_data_dtype(np.int16)
    nibabel.save(image, tmp_path / "a.nii")
    slices, scaled = read_nifti(tmp_path / "a.nii", 0)
    assert scaled
    np.testing.assert_allclose(slices, VOLUME.transpose(2, 1, 0)[:, ::-1] / 3, atol=0.02)


def test_a_volume_s_slices_are_a_group(tmp_path: Path) -> None:
    assert "ill/0.nii.gz has 4" in refused(volumes(tmp_path))
    samples = read_samples(tmp_path, layout=SLICES)
    assert samples.inputs.shape == (12, 1, 8, 6)
    assert samples.value_range == "open"
    assert set(samples.groups or ()) == {"ill/0.nii.gz", "ill/1.nii.gz", "well/2.nii.gz"}
    seen = read_samples(tmp_path, layout=Layout(pages="slices", window="40,400"))
    assert seen.value_range == "0..1"


def test_what_is_no_volume_of_numbers_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    nibabel.save(nibabel.Nifti1Image(np.zeros((4, 4, 4, 3), np.int16), np.eye(4)), tmp_path / "a" / "time.nii")
    assert "a NIfTI file of 4 axes" in refused(tmp_path, layout=SLICES)
    whole = volume(tmp_path / "a" / "time.nii").read_bytes()
    (tmp_path / "a" / "time.nii").write_bytes(whole[:400])
    assert "Unreadable: 1 of 1 image" in refused(tmp_path, layout=SLICES)


def test_a_packed_file_is_read_no_further_than_its_header_says(tmp_path: Path) -> None:
    whole = volume(tmp_path / "a.nii").read_bytes()
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(whole + bytes(10**7)))
    np.testing.assert_array_equal(read_nifti(tmp_path / "b.nii.gz", 0)[0], read_nifti(tmp_path / "a.nii", 0)[0])
    large = bytearray(whole)
    large[42:48] = np.array([30000, 30000, 30000], "<i2").tobytes()
    (tmp_path / "c" / "c").mkdir(parents=True)
    (tmp_path / "c" / "c" / "c.nii").write_bytes(bytes(large))
    assert "are free" in refused(tmp_path / "c", layout=SLICES)


def test_without_nibabel_the_kind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = volumes(tmp_path)
    monkeypatch.setitem(sys.modules, "nibabel", None)
    assert "ill/0.nii.gz (this is NIfTI; install pfedgp[nifti])" in refused(root, layout=SLICES)
