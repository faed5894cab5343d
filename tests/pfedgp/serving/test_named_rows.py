"""Samples in JSON by name and by position: by name in any order, by position in the order that the answer states."""

import io
import json
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

from pfedgp.serving.app import make_app
from pfedgp.serving.bodies import Reader
from pfedgp.serving.work import Work
from tests.table_site import COLUMNS, rows, table_site

X = rows(5)
OTHER = ("=risk", "age", "weight")


def post(body: bytes, kind: str = "application/json", columns: tuple[str, ...] = COLUMNS) -> httpx.Response:
    app = make_app(Work(table_site(), Reader((3,), columns)), "token", {"testserver"})
    client = TestClient(app, headers={"Authorization": "Bearer token"}, raise_server_exceptions=False)
    return client.post("/predict", content=body, headers={"Content-Type": kind})


def inputs(samples: list[Any]) -> bytes:
    return json.dumps({"inputs": samples}).encode()


def named(order: tuple[str, ...], **more: Any) -> list[dict[str, Any]]:
    return [{name: row[COLUMNS.index(name)] for name in order} | more for row in X.tolist()]


@pytest.mark.parametrize("order", [COLUMNS, OTHER])
def test_samples_by_name_come_in_any_order(order: tuple[str, ...]) -> None:
    answer = post(inputs(named(order)))
    assert answer.status_code == 200
    assert answer.json()["predictions"] == post(inputs(X.tolist())).json()["predictions"]


def test_each_sample_may_have_its_own_order_and_a_label() -> None:
    mixed = named(COLUMNS)[:2] + named(OTHER)[2:]
    wanted = post(inputs(X.tolist())).json()["predictions"]
    assert post(inputs(mixed)).json()["predictions"] == wanted
    assert post(inputs(named(OTHER, label="ill"))).json()["predictions"] == wanted


def test_the_order_of_values_by_position_is_in_the_answer() -> None:
    file = io.BytesIO()
    np.savez(file, x=X)
    assert post(inputs(X.tolist())).json()["columns"] == list(COLUMNS)
    assert post(file.getvalue(), "application/x-npz").json()["columns"] == list(COLUMNS)


def test_values_by_name_need_no_order_in_the_answer() -> None:
    table = "age,weight,=risk\n1,2,3\n"
    assert "columns" not in post(inputs(named(OTHER))).json()
    assert "columns" not in post(table.encode(), "text/csv").json()


@pytest.mark.parametrize("count", [1, 5])
def test_another_unit_is_noted_with_its_column(count: int) -> None:
    other = X[:count] * np.array([1, 1000, 1]) + np.array([0, 50, 0])
    (note,) = post(inputs(other.tolist())).json()["notes"]
    assert note.startswith("The column 'weight' is on another scale than in the model's data")


def test_a_small_deviation_is_noted_from_ten_samples_on() -> None:
    narrow = rows(10) * np.array([1, 0.001, 1])
    assert "notes" not in post(inputs(narrow[:9].tolist())).json()
    assert len(post(inputs(narrow.tolist())).json()["notes"]) == 1


def test_the_same_unit_is_not_noted() -> None:
    assert "notes" not in post(inputs(rows(30).tolist())).json()


BAD: list[tuple[list[Any], str]] = [
    ([{"age": 1, "weight": 2, "risk": 3}], "lacks the column '=risk' and has the column 'risk' beside the expected"),
    ([{"age": 1, "weight": 2}], "The body has other columns than the site: it lacks the column '=risk'"),
    ([{"age": 1, "weight": 2, "=risk": 3, "age ": 4}], "several columns named age"),
    ([{}], "no column beside the label"),
    ([named(COLUMNS)[0], {"age": 1, "weight": 2}], "Sample 2 in 'inputs' lacks the column '=risk'"),
    ([named(COLUMNS)[0], [1, 2, 3]], "Sample 2 in 'inputs' is no object as the first is"),
    ([[1, 2, 3], named(COLUMNS)[0]], "differ in shape"),
    ([{"age": "1", "weight": 2, "=risk": 3}], "something else than numbers"),
    ([{"age": None, "weight": 2, "=risk": 3}], "something else than numbers"),
    ([{"age": [1], "weight": 2, "=risk": 3}], "something else than numbers"),
]


@pytest.mark.parametrize(("samples", "words"), BAD, ids=[words for _, words in BAD])
def test_samples_by_other_names_are_refused(samples: list[Any], words: str) -> None:
    answer = post(inputs(samples))
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_a_site_without_names_takes_lists_and_says_so() -> None:
    answer = post(inputs(named(COLUMNS)), columns=())
    assert answer.status_code == 400
    assert answer.json() == {
        "error": "The site has no names of columns: give each sample in 'inputs' as a list of numbers."
    }


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
def test_the_description_says_which_order_is_meant(path: str) -> None:
    text = TestClient(make_app(Work(table_site(), Reader((3,), COLUMNS)), "token", {"testserver"})).get(path).text
    assert "taken by position, in the order of the model&#39;s columns" in text.replace("'", "&#39;")
