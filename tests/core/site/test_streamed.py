"""Predictions in parts have the bits of predictions at once, however the parts are cut."""

from collections.abc import Iterator

import numpy as np
import pytest

from pfedgp_core.data.own.samples import Samples
from pfedgp_core.site.streamed import predictions
from tests.table_site import rows, table_site


def cut(inputs: np.ndarray, step: int, labels: bool) -> Iterator[Samples]:
    for first in range(0, len(inputs), step):
        part = inputs[first : first + step]
        ids = tuple(str(first + i) for i in range(len(part)))
        yield Samples(part, ids, ids if labels else None)


@pytest.mark.parametrize("step", [100, 256, 1000, 5000])
def test_parts_have_the_bits_of_the_whole(step: int) -> None:
    site, inputs = table_site(), rows(2048 + 300)
    whole = site.predict(inputs)
    parts = list(predictions(site, cut(inputs, step, labels=True)))
    assert [len(part.ids) for part in parts] == [2048, 300]
    for field in ("probabilities", "entropy", "aleatoric", "epistemic", "predicted"):
        together = np.concatenate([getattr(part.prediction, field) for part in parts])
        np.testing.assert_array_equal(together, getattr(whole, field), err_msg=field)
    assert [one for part in parts for one in part.ids] == [str(i) for i in range(len(inputs))]
    assert [one for part in parts for one in part.labels or ()] == [str(i) for i in range(len(inputs))]


def test_the_temperature_is_that_of_the_call() -> None:
    site, inputs = table_site(), rows(10)
    (part,) = predictions(site, cut(inputs, 4, labels=False), 2.0)
    np.testing.assert_array_equal(part.prediction.probabilities, site.predict(inputs, 2.0).probabilities)
    assert part.labels is None
