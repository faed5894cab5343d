"""A data set that pFedGP knows by name, given as if it were a site's own data."""

from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.own.image_fit import fit_arrays
from pfedgp_core.data.own.samples import Findings, Samples, Wanted, input_digests
from pfedgp_core.data.value_range import BYTES
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.memory import MemoryLimit
from pfedgp_core.registry import DATASETS, entry

__all__ = ["builtin_samples"]


def builtin_samples(
    name: str, root: str = "", input_shape: tuple[int, ...] | None = None, memory: MemoryLimit | None = None
) -> dict[str, Samples]:
    """The parts of a built-in data set, as if they were a site's own.

    Parameters
    ----------
    name : str
        One of the registry.
    root : str
        Folder of a data set that has files.
    input_shape : tuple of int, optional
        Shape to which images are resized.
    memory : MemoryLimit, optional
        How much they may take then.

    Raises
    ------
    ConfigError
        A folder for a data set that needs none.
    DataError
        The files are missing or damaged, or the inputs cannot be brought to the shape.
    """
    if root and not entry(DATASETS, "data set", name).files:
        raise ConfigError(f"The data set {name!r} needs no files: leave out data-root = {root!r}.")
    dataset = load_dataset(name, root)
    parts = {}
    for part, split in dataset.splits().items():
        names = dataset.class_names
        labels = [names[label] for label in split.labels.tolist()] if names else map(repr, split.labels.tolist())
        findings = Findings()
        images = split.inputs.ndim == 4
        inputs = (
            fit_arrays(split.inputs, Wanted(input_shape, resize=True, memory=memory), findings, len(names or ()))
            if images
            else split.inputs
        )
        if inputs is None:
            raise DataError(findings.problems[0])
        ids = tuple(str(i + 1) for i in range(len(split)))
        parts[part] = Samples(
            inputs, ids, tuple(labels), digests=input_digests(split.inputs), value_range=BYTES if images else ""
        )
    return parts
