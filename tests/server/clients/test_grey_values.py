"""Sites with light images where the others' are dark: named before round 1, with what to check."""

from typing import Any

from pfedgp_core.wire.hello import Hello
from server.clients.grey_values import inverted_doubts
from server.clients.input_scales import scale_doubts


def hello(name: str, mean: float, **changes: Any) -> Hello:
    fields: dict[str, Any] = {"n_train": 100, "input_shape": (1, 8, 8), "partition_hash": "", "std": (0.1,)} | changes
    moments = fields.pop("means", (mean,))
    return Hello(name, (0, 1), ("a", "b"), n_validation=9, n_test=9, versions={}, mean=moments, **fields)


def test_a_light_site_among_dark_ones_is_named() -> None:
    (doubt,) = inverted_doubts([hello("a", 0.2), hello("b", 0.8), hello("c", 0.3)])
    assert doubt.startswith("b has light images (mean 0.80 of 0 to 1) and the other sites have not (0.30 usually)")
    assert doubt.endswith("check whether its grey values are inverted")


def test_of_two_sites_both_are_named() -> None:
    (doubt,) = inverted_doubts([hello("a", 0.25), hello("b", 0.75)])
    assert "light at b (mean 0.75 of 0 to 1) and dark at a (mean 0.25 of 0 to 1)" in doubt


def test_images_on_one_side_of_the_middle_or_near_it_are_not() -> None:
    assert not inverted_doubts([hello("a", 0.1), hello("b", 0.49)])
    assert not inverted_doubts([hello("a", 0.4), hello("b", 0.6), hello("c", 0.45)])


def test_tables_simulations_open_ranges_and_sites_without_samples_are_left_out() -> None:
    dark = hello("a", 0.1)
    assert not inverted_doubts([dark, hello("b", 0.9, n_train=0)])
    assert not inverted_doubts([hello(n, m, partition_hash="1") for n, m in (("a", 0.1), ("b", 0.9))])
    assert not inverted_doubts([hello(n, m, value_range="open") for n, m in (("a", 0.1), ("b", 0.9))])
    assert not inverted_doubts([hello(n, m, input_shape=(1,)) for n, m in (("a", 0.1), ("b", 0.9))])


def test_the_look_before_round_1_has_it() -> None:
    (doubt,) = scale_doubts([hello("a", 0.2), hello("b", 0.8), hello("c", 0.3)])
    assert "inverted" in doubt
