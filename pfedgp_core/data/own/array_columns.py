"""Names of the columns of vectors in a ``.npz`` file, its array ``columns``: so they go by name, as a table's do."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from pfedgp_core.data.column_names import COLUMNS_LIMIT, plain_columns
from pfedgp_core.data.own.samples import Samples, Wanted, input_digests, label_texts
from pfedgp_core.errors import DataError
from pfedgp_core.files.array_blocks import ArrayStream
from pfedgp_core.words import cut

__all__ = ["ArrayColumns"]

_REMEDY = "rename or remove columns, in 'inputs' and in 'columns'"


@dataclass(frozen=True)
class ArrayColumns:
    """Names of the columns of an archive's vectors, and where those stand that are wanted.

    Attributes
    ----------
    names : tuple of str, length D
        As the file has them.
    order : tuple of int, length D
        Where each wanted column is among them.
    """

    names: tuple[str, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, names: ArrayStream | None, inputs: ArrayStream, wanted: Wanted) -> "ArrayColumns | None":
        """The columns of a file; None for images, and for vectors without names.

        Raises
        ------
        DataError
            The names are none for these inputs, or other ones than those that are wanted.
        """
        if names is None or len(inputs.shape) != 2:
            return None
        if names.shape != inputs.shape[1:] or names.dtype.kind not in "SU" or names.shape[0] > COLUMNS_LIMIT:
            raise DataError(
                f"{path} has inputs with {inputs.shape[1]} columns and an array 'columns' of {names.dtype} "
                f"{list(names.shape)}: give it one text for each column, or rename it."
            )
        found = label_texts(names.whole())
        twice = sorted(name for name, count in Counter(plain_columns(found)).items() if count > 1)
        if twice or not all(found):
            what = f"several columns named {cut(twice[0], 60)!r}" if twice else "a column without a name"
            raise DataError(f"{path} has {what} in its array 'columns': give each column its own name.")
        expected = wanted.layout.columns
        order = tuple(range(len(found))) if expected is None else expected.order(path, found, _REMEDY)
        return cls(found, order)

    def named(self, samples: Samples, digests: bool) -> Samples:
        """Samples of the file in the wanted order; as a table's, their hashes do not depend on it."""
        by_name = sorted(range(len(self.names)), key=plain_columns(self.names).__getitem__)
        hashes = input_digests(samples.inputs[:, by_name]) if digests else None
        return replace(samples, columns=self.names, digests=hashes).arranged(self.order)
