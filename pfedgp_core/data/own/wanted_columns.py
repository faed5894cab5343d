"""The columns that a table must have, by name: those of a model, a federation or a site's former data."""

from collections.abc import Sequence
from dataclasses import dataclass

from pfedgp_core.data.column_names import (
    column_order,
    columns_difference,
    hashed_columns,
    is_hashed,
    plain_columns,
)
from pfedgp_core.errors import DataError

__all__ = ["REMEDY", "WantedColumns"]

REMEDY = "rename or remove columns, or name what is no feature with --drop, --id-column or --group-column"


@dataclass(frozen=True)
class WantedColumns:
    """Names in the order in which the model takes them.

    Parameters
    ----------
    names : tuple of str
        Plain, or hashes. Empty: any columns are taken, by position.
    key : bytes
        With which hashes were made; empty where the site has none.
    whose : str
        For sentences.
    """

    names: tuple[str, ...]
    key: bytes = b""
    whose: str = "the model"

    def order(self, what: object, columns: Sequence[str], remedy: str = REMEDY) -> tuple[int, ...]:
        """Where each wanted column is among those of a table; as they are where no names are wanted.

        Parameters
        ----------
        what : object
            The table, at the beginning of a sentence.
        columns : sequence of str
        remedy : str
            What to do about other columns, at the end of a sentence.

        Raises
        ------
        DataError
            They are not the same columns, or names are hashed and there is no key.
        """
        if not self.names or not columns:
            return tuple(range(len(columns)))
        if is_hashed(self.names) and not self.key:
            raise DataError(
                f"{self.whose[0].upper()}{self.whose[1:]} knows its columns by hashes, and without their key {what} "
                "cannot be compared: give the file that all sites share with --column-key."
            )
        names = plain_columns(self.names)
        if is_hashed(self.names):
            own = hashed_columns(columns, self.key)
            known = set(names)
            strange = {token: name for token, name in zip(own, columns, strict=True) if token not in known}
            missing = len(known - set(own))
            if strange or missing:
                raise DataError(
                    f"{what} lacks {missing} of the columns of {self.whose}, which are known by hashes, and has "
                    f"{columns_difference(tuple(strange.values()), ())[4:] or 'no others'}: {remedy}, "
                    "or give the right --column-key."
                )
        else:
            own = plain_columns(columns)
            if fault := columns_difference(own, names):
                raise DataError(f"{what} has other columns than {self.whose}: it {fault}; {remedy}.")
        return column_order(own, names)
