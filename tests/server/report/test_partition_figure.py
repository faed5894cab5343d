"""The figure of a partition: a field for every client and class that has samples, darker where there are more."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from server.report.partition_figure import partition_figure

COUNTS = np.array([[40, 0, 1], [0, 20, 0], [0, 0, 10], [5, 5, 5]])
NAMES = ["cat", "dog", "a<b"]


def fields(counts: np.ndarray = COUNTS, names: list[str] = NAMES) -> list[ET.Element]:
    """The rectangles with an opacity, or wholly opaque in the accent's colour."""
    root = ET.fromstring(partition_figure(counts, names, "digits").svg_file())
    accent = "#2b6cb0"
    return [element for element in root.iter() if element.tag.endswith("rect") and element.get("fill") == accent]


def test_every_class_that_a_client_holds_has_a_field() -> None:
    assert len(fields()) == np.count_nonzero(COUNTS)


def test_more_samples_are_darker() -> None:
    shades = [float(field.get("opacity", "1")) for field in fields()]
    held = COUNTS[COUNTS > 0]
    assert [shades[i] for i in np.argsort(held, kind="stable")] == sorted(shades)


def test_a_field_stands_at_its_client_and_class() -> None:
    places = {(float(f.get("x", "0")), float(f.get("y", "0"))) for f in fields()}
    columns, rows = ({p[axis] for p in places} for axis in (0, 1))
    assert (len(columns), len(rows), len(places)) == (4, 3, 7)


def test_classes_are_named() -> None:
    texts = re.findall(r">([^<>]+)</text>", partition_figure(COUNTS, NAMES, "digits").svg_file())
    assert {"cat", "dog", "a&lt;b"} <= set(texts)


@pytest.mark.parametrize("shape", [(500, 10), (20, 100), (1, 1)])
def test_any_number_of_clients_and_classes(shape: tuple[int, int]) -> None:
    counts = np.zeros(shape, np.int64)
    counts[-1, -1] = 7
    names = [f"class {i}" for i in range(shape[1])]
    (field,) = fields(counts, names)
    drawing = partition_figure(counts, names, "much")
    assert float(field.get("x", "0")) + float(field.get("width", "0")) <= drawing.width
    assert float(field.get("y", "0")) + float(field.get("height", "0")) <= drawing.height
