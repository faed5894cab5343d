"""Mean and standard error of a few values."""

import math

import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.metrics.spread import spread


def test_mean():
    assert spread([1.0, 2.0, 6.0]).mean == 3.0


def test_standard_error_divides_by_n_minus_1():
    assert spread([1.0, 2.0, 6.0]).standard_error == pytest.approx(math.sqrt((4 + 1 + 9) / 2 / 3), rel=1e-12)


def test_single_value_has_no_standard_error():
    assert spread([5.0]).standard_error is None


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_no_value_or_one_that_is_not_finite_is_refused(values):
    with pytest.raises(DataError, match="has no mean"):
        spread(values)
