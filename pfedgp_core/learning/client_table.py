"""A row of numbers for each client inside a server's state, which is one float32 vector of fixed length.

A client's row is found by its name, of which the row holds a digest. Clients get their rows in the order in which they
first answer, so the names need not be known before the run.
"""

import hashlib

import numpy as np

from pfedgp_core.errors import ConfigError
from pfedgp_core.memory import FLOAT, MemoryLimit, Need, require_memory

__all__ = ["ClientTable"]

KEY = 4  # numbers of 16 bits, which float32 holds exactly; 0 stands for a free row, so each is one more


class ClientTable:
    """The layout of such a table; it holds no numbers itself.

    Parameters
    ----------
    rows : int
        Clients that it has room for.
    width : int
        Numbers of a client.
    setting : str
        The setting that makes it larger, for errors.
    """

    def __init__(self, rows: int, width: int, setting: str) -> None:
        self.rows, self.width, self._setting = rows, width, setting

    @property
    def size(self) -> int:
        """Length of the whole table."""
        return self.rows * (KEY + self.width)

    def empty(self) -> np.ndarray:
        """A table without clients, float32 [size].

        Raises
        ------
        MemoryLimitError
            This machine cannot hold it and the next one.
        """
        what = f"a row of {self.width:,} values for each of {self.rows:,} clients at the server"
        remedy = f"lower {self._setting}, or choose another method"
        require_memory([Need(float(2 * self.size * FLOAT), what, remedy)], MemoryLimit.of_machine())
        return np.zeros(self.size, np.float32)

    def values(self, table: np.ndarray) -> np.ndarray:
        """The rows of a table as a view, float32 [rows, width]; those of nobody are zeros."""
        values: np.ndarray = table.reshape(self.rows, KEY + self.width)[:, KEY:]
        return values

    def find(self, table: np.ndarray, client: str) -> int | None:
        """The number of a client's row; None where it has none yet."""
        keys = table.reshape(self.rows, KEY + self.width)[:, :KEY]
        found = np.flatnonzero((keys == _key(client)).all(axis=1))
        return int(found[0]) if len(found) else None

    def place(self, table: np.ndarray, client: str) -> int:
        """The number of a client's row, which it gets here where it has none yet.

        Raises
        ------
        ConfigError
            All rows belong to others.
        """
        if (row := self.find(table, client)) is not None:
            return row
        keys = table.reshape(self.rows, KEY + self.width)[:, :KEY]
        free = np.flatnonzero(keys[:, 0] == 0)
        if not len(free):
            raise ConfigError(
                f"More than {self._setting} = {self.rows} clients take part: start a run with a larger number."
            )
        keys[free[0]] = _key(client)
        return int(free[0])


def _key(client: str) -> np.ndarray:
    digest = hashlib.sha256(client.encode("utf-8", "surrogatepass")).digest()[: 2 * KEY]
    return np.frombuffer(digest, "<u2").astype(np.float32) + 1
