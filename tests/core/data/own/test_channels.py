"""Arrays of images whose shape does not tell where the channels are: named, and read as the user says."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.data.own.samples import Layout
from tests.data_files import refused


def archive(path: Path, *shape: int, kind: type = np.uint8) -> Path:
    draw = np.random.default_rng(0)
    np.savez(path, inputs=draw.integers(0, 256, (6, *shape)).astype(kind), labels=np.arange(6) % 2)
    return path


@pytest.mark.parametrize("shape", [(16, 16, 4), (8, 8, 8), (4, 16, 16), (2, 8, 6)])
def test_an_ambiguous_shape_is_refused_until_the_user_decides(shape: tuple[int, ...], tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", *shape)
    said = refused(file)
    assert f"give --channels-last if they have {shape[2]} channels, --channels-first if {shape[0]}" in said
    first, last = (read_samples(file, layout=Layout(channels=place)).inputs for place in ("first", "last"))
    assert first.shape[1:] == shape
    np.testing.assert_array_equal(last, np.load(file)["inputs"].transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("shape", "read"), [((3, 8, 6), (3, 8, 6)), ((8, 6, 3), (3, 8, 6)), ((1, 8, 6), (1, 8, 6)), ((8, 6), (1, 8, 6))]
)
def test_grey_and_colour_are_read_as_before(shape: tuple[int, ...], read: tuple[int, ...], tmp_path: Path) -> None:
    assert read_samples(archive(tmp_path / "a.npz", *shape)).inputs.shape[1:] == read


def test_the_shape_that_a_model_takes_decides_unless_both_would_do(tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", 16, 16, 4)
    assert read_samples(file, input_shape=(4, 16, 16)).inputs.shape[1:] == (4, 16, 16)
    assert read_samples(file, input_shape=(16, 16, 4)).inputs.shape[1:] == (16, 16, 4)
    assert "does not tell" in refused(archive(tmp_path / "b.npz", 8, 8, 8), input_shape=(8, 8, 8))


def test_check_data_takes_the_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(archive(tmp_path / "a.npz", 16, 16, 4))
    assert main(["check-data", file]) == 2
    assert main(["check-data", file, "--channels-last"]) == 0
    assert "each of shape 4 x 16 x 16" in capsys.readouterr().out
