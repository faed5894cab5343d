"""Which columns of a table are features: the operator's choice, indices that no one means, and rules of the federation.

The columns that pandas writes for the index of its rows are no features, unless somebody names them.
"""

import csv
import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp_core.data.column_names import plain_columns
from pfedgp_core.data.tables.text import check_encoding
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.words import cut, few

__all__ = ["AS_NAMED", "TableChoice", "column_list", "is_index"]

_INDEX = ("Unnamed:", "__index_level_")  # names that pandas gives to columns of indices


def is_index(name: str, place: int) -> bool:
    """Whether a column is an index of rows, by its name; pandas leaves the first name of a CSV file empty for it."""
    return name.startswith(_INDEX) or (not name and place == 0)


@dataclass(frozen=True)
class TableChoice:
    """What an operator says about the columns of a table.

    Attributes
    ----------
    keep : tuple of str
        The features; empty: all columns that are nothing else.
    drop : tuple of str
        Columns that are no features.
    id_column : str
        Column that names the samples, and is no feature; empty: samples are named by the numbers of their rows.
    encoding : str
        Of a CSV file; empty: as the file shows.
    strict : bool
        Whether the table must have these columns. It need not where they were given for another table.
    """

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id_column: str = ""
    encoding: str = ""
    strict: bool = True

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "TableChoice":
        """The choice of a node config or of the options of a command, which have the same keys.

        Raises
        ------
        ConfigError
            A list that is none, a column that is kept and dropped, or an unknown encoding.
        """
        keep, drop = (column_list(str(given.get(key) or ""), key) for key in ("columns", "drop"))
        one = str(given.get("id-column") or "").strip()
        if both := sorted({*keep} & {*drop, one}):
            raise ConfigError(f"The column {cut(both[0], 60)!r} is named as a feature and as none: decide for one.")
        return cls(keep, drop, one, check_encoding(str(given.get("encoding") or "").strip()))

    def to_config(self) -> dict[str, str]:
        """The keys of a node config; none for what is as by default."""
        listed = {"columns": _joined(self.keep), "drop": _joined(self.drop)}
        given = {**listed, "id-column": self.id_column, "encoding": self.encoding}
        return {key: value for key, value in given.items() if value}

    def features(
        self, what: object, columns: Sequence[str], taken: Collection[str], known: Collection[str]
    ) -> list[str]:
        """The columns that are features, in the order of the table.

        Parameters
        ----------
        what : object
            The table, at the beginning of a sentence.
        columns : sequence of str
            All names of the table.
        taken : collection of str
            Those of labels and of samples' names.
        known : collection of str
            Names that somebody means: a column of an index is a feature where it is one of them.

        Raises
        ------
        DataError
            The table lacks a column that the operator named.
        """
        plain = dict(zip(columns, plain_columns(columns), strict=True))
        named = dict.fromkeys((*self.keep, *self.drop, *([self.id_column] if self.id_column else [])))
        lost = [name for name in plain_columns(tuple(named)) if name not in set(plain.values())]
        if lost and self.strict:
            near = difflib.get_close_matches(lost[0], list(plain.values()), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {few(columns, 10)}."
            raise DataError(f"{what} has no column {cut(lost[0], 60)!r}: {hint}")
        keep, drop, meant = ({*plain_columns(tuple(names))} for names in (self.keep, self.drop, known))
        return [
            name
            for place, name in enumerate(columns)
            if name not in taken
            and plain[name] not in drop
            and (plain[name] in keep if keep else plain[name] in meant or not is_index(name, place))
        ]


AS_NAMED = TableChoice()


def column_list(text: str, option: str) -> tuple[str, ...]:
    """Names of columns between commas; one that holds a comma stands in double quotes.

    Raises
    ------
    ConfigError
        A name is empty or there twice.
    """
    if not text.strip():
        return ()
    names = plain_columns(next(csv.reader([text.replace("\n", " ")], skipinitialspace=True)))
    if not all(names) or len(set(names)) < len(names):
        raise ConfigError(f"{option} = {cut(text, 80)!r} has an empty name or one twice: separate names by one comma.")
    return names


def _joined(names: Sequence[str]) -> str:
    return ",".join('"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name for name in names)
