"""Samples in memory: splits of a data set, one client's share, their normalisation and stratified splitting."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.data.partitions.sites import Sites
from pfedgp_core.data.partitions.stratified import stratified_split
from pfedgp_core.data.pixels import SMALL, Inputs, Pixels
from pfedgp_core.errors import DataError

__all__ = [
    "SPLIT_SEED",
    "ClientData",
    "Dataset",
    "Split",
    "TensorSplit",
    "normalised",
    "stratified_split",
]

# Splits that we draw ourselves must not move with the run's seed, or results of different seeds could not be compared.
SPLIT_SEED = 0
_EXTREMES = torch.tensor([0, 255], dtype=torch.uint8)


@dataclass(frozen=True)
class Split:
    """Samples of one split.

    Parameters
    ----------
    inputs : numpy.ndarray
        Images, uint8 [N, C, H, W] in 0..255 or, of other values, float32 [N, C, H, W]; or vectors, float32 [N, D].
    labels : numpy.ndarray, int64 or float64 [N]
        Class ids, indices into the data set's ``class_names``; or the targets of a regression.

    Raises
    ------
    DataError
        Other types or shapes, lengths that differ, or vectors or targets with NaN or infinity.
    """

    inputs: np.ndarray
    labels: np.ndarray

    def __post_init__(self) -> None:
        images = self.inputs.dtype == np.uint8 and self.inputs.ndim == 4
        if not images and not (self.inputs.dtype == np.float32 and self.inputs.ndim in (2, 4)):
            raise DataError(
                f"Inputs are {self.inputs.dtype} {list(self.inputs.shape)}; give images as uint8 or float32 "
                f"[N, C, H, W], or vectors as float32 [N, D]."
            )
        targets = self.labels.dtype == np.float64
        if not (targets or self.labels.dtype == np.int64) or self.labels.shape != self.inputs.shape[:1]:
            raise DataError(
                f"Labels are {self.labels.dtype} {list(self.labels.shape)} for {len(self.inputs)} inputs; "
                f"give class ids as int64 [N], or targets as float64 [N]."
            )
        if not images or targets:
            bad = ~np.isfinite(self.labels) | ~np.isfinite(self.inputs).all(axis=tuple(range(1, self.inputs.ndim)))
            if bad.any():
                raise DataError(
                    f"{bad.sum()} of {len(bad)} samples hold NaN or infinity (the first is row {bad.argmax() + 1}); "
                    f"remove them or fill the gaps."
                )

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Dataset:
    """A data set with its three splits and the statistics that normalise it.

    Parameters
    ----------
    name : str
    class_names : tuple of str
        The federation's classes; label i means ``class_names[i]``. Empty in regression.
    train, validation, test : Split
    mean, std : numpy.ndarray, float32 [C] or [D]
        Per channel, of images scaled to [0, 1]; per feature, of vectors as they are.
    input_shape : tuple of int
        Shape of one input: (C, H, W) or (D,).
    sites : Sites, optional
        Where the samples come from, if the data set says it.
    value_range : str
        Of images, see `pfedgp_core.data.value_range`; empty for vectors and, of pFedGP's own data sets, for bytes.
    columns : tuple of str
        Names of the features of a user's table; empty for other data.
    groups : mapping of split to tuple of str
        What each sample of a user's data belongs to, such as a patient; empty where they have no groups.
    rules : str
        On which the sites of a user's table have agreed; empty where they have not.

    Raises
    ------
    DataError
        Labels outside the classes or of the other task, splits of different input shapes, statistics that cannot
        normalise, or sites or groups of other numbers of samples.
    """

    name: str
    class_names: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    mean: np.ndarray
    std: np.ndarray
    input_shape: tuple[int, ...]
    sites: Sites | None = None
    value_range: str = ""
    columns: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: str = ""

    def __post_init__(self) -> None:
        for name, split in self.splits().items():
            if self.sites is not None and len(self.sites.of[name]) != len(split):
                raise DataError(
                    f"{self.name} has {len(split)} {name} samples and sites of {len(self.sites.of[name])}; give each "
                    "sample its site."
                )
            if self.groups and len(self.groups[name]) != len(split):
                raise DataError(
                    f"{self.name} has {len(split)} {name} samples and {len(self.groups[name])} groups; give each "
                    "sample its group."
                )
            if split.inputs.shape[1:] != self.input_shape:
                raise DataError(
                    f"The {name} inputs of {self.name} have shape {split.inputs.shape[1:]}, not {self.input_shape}; "
                    f"give all splits the same input shape."
                )
            if (split.labels.dtype == np.float64) == bool(self.class_names):
                raise DataError(
                    f"The {name} labels of {self.name} are {split.labels.dtype} with {len(self.class_names)} class "
                    f"names; give int64 with names, or float64 targets without."
                )
            if (
                len(split)
                and self.class_names
                and not 0 <= split.labels.min() <= split.labels.max() < len(self.class_names)
            ):
                raise DataError(
                    f"The {name} labels of {self.name} run from {split.labels.min()} to {split.labels.max()}; "
                    f"give 0 to {len(self.class_names) - 1}."
                )
        for what, values in (("mean", self.mean), ("std", self.std)):
            if (
                values.shape != self.input_shape[:1]
                or not np.isfinite(values).all()
                or (what == "std" and (values <= 0).any())
            ):
                raise DataError(
                    f"The {what} of {self.name} cannot normalise its inputs: {values}; give {self.input_shape[0]} "
                    f"finite values, and a std above 0."
                )

    def splits(self) -> dict[str, Split]:
        """Return the splits by name: train, validation, test."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    @property
    def labels(self) -> dict[str, np.ndarray]:
        """The labels of each split, as partitions take them; the samples of a regression are one class."""
        if not self.class_names:
            return {name: np.zeros(len(split), np.int64) for name, split in self.splits().items()}
        return {name: split.labels for name, split in self.splits().items()}


@dataclass(frozen=True)
class TensorSplit:
    """Samples as a network takes them: inputs float32 [N, ...] normalised; class ids int64, or targets float64, [N].

    Many images stay bytes until a batch of them is needed (`Pixels`).
    """

    inputs: Inputs
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class ClientData:
    """All that one client holds; ``class_names`` is the federation's whole list, empty in regression.

    ``mean`` and ``std`` are those that its inputs were normalised with, per channel or feature.
    """

    name: str
    class_names: tuple[str, ...]
    train: TensorSplit
    validation: TensorSplit
    test: TensorSplit
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


def normalised(split: Split, mean: np.ndarray, std: np.ndarray) -> TensorSplit:
    """Return (x - mean) / std as tensors; bytes are first scaled from 0..255 to [0, 1].

    Parameters
    ----------
    split : Split
    mean, std : numpy.ndarray [C] or [D]
        Per channel of images, per feature of vectors.

    Raises
    ------
    DataError
        A result that is not finite.
    """
    shape = (1, -1) + (1,) * (split.inputs.ndim - 2)
    centre, scale = (torch.from_numpy(np.array(moment, dtype=np.float32)).view(shape) for moment in (mean, std))
    raw = torch.from_numpy(np.array(split.inputs))
    labels = torch.from_numpy(np.array(split.labels))
    if raw.dtype == torch.uint8:
        pixels = Pixels(raw, centre, scale)
        if len(raw) and not torch.isfinite(pixels.of(_EXTREMES.expand(1, raw.shape[1], 1, 2))).all():
            raise _not_finite()
        large = 4 * raw.numel() > SMALL
        return TensorSplit(pixels if large else pixels.normalised(), labels)
    inputs = (raw - centre).div_(scale)
    if not torch.isfinite(inputs).all():
        raise _not_finite()
    return TensorSplit(inputs, labels)


def _not_finite() -> DataError:
    return DataError("Normalised inputs hold NaN or infinity; rescale features that are beyond the range of float32.")
