"""What a federation's data are: pooled moments, the list of classes, and settings that cannot be read."""

import numpy as np
import pytest

from pfedgp_core.data.moments import input_moments, input_statistics
from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.spec import DataSpec, class_list, normal_class, parse_shape, pooled_moments, union_of_classes
from pfedgp_core.errors import ConfigError, DataError


@pytest.mark.parametrize("kind", ["vectors", "images"])
def test_pooled_moments_are_those_of_the_pooled_inputs(kind: str) -> None:
    rng = np.random.default_rng(3)
    sites = []
    for n, centre in ((7, 0.0), (40, 5.0), (1, -3.0)):
        if kind == "vectors":
            x = rng.normal(centre, 2.0, (n, 4)).astype(np.float32)
            x[:, 2] = 1.5  # constant everywhere
            x[:, 3] = centre  # constant at each site, but not in all
        else:
            x = rng.integers(0, 100 + int(10 * centre), (n, 3, 5, 4)).astype(np.uint8)
            x[:, 1] = 9
        sites.append(x)
    moments = [input_moments(x) for x in sites]
    mean, std = pooled_moments(
        [len(x) for x in sites], [m.tolist() for m, _ in moments], [s.tolist() for _, s in moments]
    )
    expected = input_statistics(np.concatenate(sites))
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6)
    np.testing.assert_allclose(std, expected[1], rtol=1e-6)
    assert 1.0 in std


def test_a_constant_feature_has_the_raw_deviation_0_and_the_divisor_1() -> None:
    x = np.full((5, 1), 3.0, np.float32)
    assert input_moments(x)[1].tolist() == [0.0]
    assert input_statistics(x)[1].tolist() == [1.0]


def test_classes_are_united_in_numeric_order_where_all_are_numbers() -> None:
    assert union_of_classes([["10", "2"], ["2", "1"]]) == ("1", "2", "10")
    assert union_of_classes([["10", "2"], ["cat"]]) == ("10", "2", "cat")
    assert union_of_classes([["Be\u0301nin "], ["B\u00e9nin"]]) == ("B\u00e9nin",)


def test_settings_of_classes_and_shapes() -> None:
    assert class_list(" ") == ()
    assert class_list("cat, dog") == ("cat", "dog")
    assert parse_shape("") is None
    assert parse_shape("3, 32,32") == (3, 32, 32)
    assert parse_shape("20") == (20,)
    for wrong in ("a,,b", "a,b,a"):
        with pytest.raises(ConfigError, match="class-names"):
            class_list(wrong)
    for wrong in ("3x32x32", "3,32", "0", "1,2,3,4"):
        with pytest.raises(ConfigError, match="3,32,32"):
            parse_shape(wrong)
    with pytest.raises(ConfigError, match="more than 100,000,000 values"):
        parse_shape("3,30000,30000")


def test_a_spec_travels_as_text() -> None:
    spec = DataSpec(("a", "b"), (1, 8, 8), (0.1,), (0.3,))
    assert DataSpec.from_json(spec.to_json()) == spec
    for text in ("", "[]", "{}", '{"class_names": 3}'):
        with pytest.raises(DataError):
            DataSpec.from_json(text)


def test_words_that_differ_in_case_alone_are_one_class_and_letters_are_two() -> None:
    assert union_of_classes([["Benign", "a"], ["benign", "A"], [" benign "]]) == ("A", "a", "benign")
    assert union_of_classes([["Benign"], ["BENIGN"]]) == ("BENIGN",)
    assert map_classes(["BENIGN ", "Benign", "b"], ["Benign", "b", "B"]).tolist() == [0, 0, 1]
    assert map_classes(["benign", "Benign"], ["Benign", "benign"]).tolist() == [1, 0]
    with pytest.raises(DataError, match="'BENIGN' is none of"):
        map_classes(["BENIGN"], ["Benign", "benign"])


def test_whole_numbers_are_one_class_however_many_decimals_they_have() -> None:
    assert union_of_classes([["0.0", "1.0"], ["0", "1"], ["0.000000", "1."], ["-0.0"]]) == ("0", "1")
    assert union_of_classes([["0.5", "1.50"]]) == ("0.5", "1.50")
    assert map_classes(["0.000", "1"], ["well", "ill"]).tolist() == [0, 1]
    assert map_classes(["0", "1.00"], ["0.0", "1.0"]).tolist() == [0, 1]  # a model of a former version


def test_digits_without_end_are_no_number() -> None:
    assert normal_class("9" * 9000 + ".0") == "9" * 9000 + ".0"
