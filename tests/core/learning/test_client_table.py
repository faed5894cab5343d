"""Rows by client name inside a vector: found again, placed in turn, refused where there is no room."""

import numpy as np
import pytest

from pfedgp_core.errors import ConfigError, MemoryLimitError
from pfedgp_core.learning.client_table import ClientTable

TABLE = ClientTable(3, 2, "some.clients")


def test_an_unknown_client_has_no_row():
    assert TABLE.find(TABLE.empty(), "north") is None


def test_clients_get_rows_in_turn_and_find_them_again():
    vector = TABLE.empty()
    assert [TABLE.place(vector, name) for name in ("north", "south", "north")] == [0, 1, 0]
    assert TABLE.find(vector, "south") == 1


def test_values_are_a_view_of_the_vector():
    vector = TABLE.empty()
    TABLE.values(vector)[TABLE.place(vector, "north")] = (5, 6)
    assert TABLE.values(vector.copy()).tolist() == [[5, 6], [0, 0], [0, 0]]


def test_names_survive_float32():
    vector = TABLE.empty()
    TABLE.place(vector, "Zürich")
    assert TABLE.find(np.frombuffer(vector.astype("<f4").tobytes(), "<f4"), "Zürich") == 0


def test_one_client_too_many_is_named_with_the_remedy():
    vector = TABLE.empty()
    for name in "abc":
        TABLE.place(vector, name)
    with pytest.raises(ConfigError, match=r"More than some\.clients = 3 clients take part: start a run with a larger"):
        TABLE.place(vector, "d")


def test_a_table_beyond_this_machine_is_refused():
    with pytest.raises(MemoryLimitError, match=r"a row of 1,000,000 values for each of 1,000,000 clients.*lower some"):
        ClientTable(10**6, 10**6, "some.clients").empty()
