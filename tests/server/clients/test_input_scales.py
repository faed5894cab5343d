"""Sites whose inputs are on another scale, or that lie about them, and clients that do not belong: before round 1."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from client import own_site as own_site_module
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.hello import Hello
from server.clients.input_scales import off_scale, on_another_scale, scale_doubts
from server.clients.membership import common_spec, misfit, outsiders
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from tests.own_sites import OwnGrid, archive, rows_of
from tests.wire_parts import greets_with

OWN = Settings(clients_per_round=2, min_clients=2, wait_timeout=60.0)


def hello(name: str, mean: tuple[float, ...], std: tuple[float, ...], **changes: Any) -> Hello:
    """A site with vectors."""
    fields: dict[str, Any] = {"n_train": 100, "input_shape": (len(mean),), "partition_hash": ""} | changes
    return Hello(name, (0, 1), ("a", "b"), n_validation=9, n_test=9, versions={}, mean=mean, std=std, **fields)


@pytest.mark.parametrize(
    ("moments", "reason"),
    [
        ({"mean": (1e300,), "std": (1e300,)}, "images cannot have"),
        ({"mean": (0.5,), "std": (0.7,)}, "images cannot have"),
        ({"mean": (-0.1,), "std": (0.1,)}, "images cannot have"),
        ({"mean": (1.0,), "std": (0.0,)}, ""),
        ({"mean": (0.5,), "std": (0.5,)}, ""),
    ],
)
def test_images_have_moments_of_values_between_0_and_1(moments: dict, reason: str) -> None:
    said = misfit(hello("w", **moments, input_shape=(1, 8, 8)), OWN, None)
    assert reason in said
    assert bool(said) == bool(reason)


def test_vectors_beyond_the_range_of_differences_are_refused() -> None:
    assert "w has values beyond 1e+30 in column 2 of the table" in misfit(
        hello("w", (0.0, 3e38), (1.0, 1.0)), OWN, None
    )
    assert "in column 1 of the table" in misfit(hello("w", (0.0, 0.0), (1e31, 1.0)), OWN, None)
    assert not misfit(hello("w", (0.0, 1e9), (1.0, 1e8)), OWN, None)


def test_a_site_that_comes_later_is_held_against_the_federations_normalisation() -> None:
    spec = common_spec(
        [hello("a", (1.0, 20.0, 7.0), (1.0, 5.0, 0.0)), hello("b", (2.0, 25.0, 7.0), (1.2, 4.0, 0.0))], OWN
    )
    reason = off_scale(hello("late", (1.0, 20000.0, 7.0), (1.0, 5.0, 0.0)), spec)
    assert reason.startswith(
        "late's inputs are on another scale than the federation's: column 2 of the table has mean 20000"
    )
    # A thousand deviations may be an honest rare value, which is worth a warning; a million are not.
    assert not misfit(hello("late", (1.0, 20000.0, 7.0), (1.0, 5.0, 0.0)), OWN, spec)
    assert "column 2 of the table" in misfit(hello("late", (1.0, 2e7, 7.0), (1.0, 5.0, 0.0)), OWN, spec)
    assert "column 1 of the table" in off_scale(hello("late", (1.0, 20.0, 7.0), (1e6, 5.0, 0.0)), spec)
    for mean, std in [((300.0, 20.0, 7.0), (1.0, 500.0, 0.0)), ((1.0, 20.0, 9.0), (1.0, 5.0, 3.0))]:
        assert not off_scale(hello("late", mean, std), spec)
    assert not off_scale(hello("late", (1.0, 20000.0, 7.0), (1.0, 5.0, 0.0), n_train=0), spec)


def test_a_site_in_other_units_than_two_others_is_named() -> None:
    sites = [hello("a", (1.0, 20.0), (1.0, 5.0)), hello("b", (1.5, 25.0), (1.2, 4.0))]
    assert list(on_another_scale([*sites, hello("c", (1.0, 20000.0), (1.0, 5.0))])) == ["c"]
    reason = on_another_scale([*sites, hello("c", (1.0, 20.0), (1.0, 5e9))])["c"]
    assert "column 2 of the table" in reason
    assert "check the units" in reason
    # Site effects, features that are constant at most sites, and a constant feature are no other units.
    assert not on_another_scale([*sites, hello("c", (300.0, 20.0), (1.0, 500.0))])
    assert not on_another_scale([hello(n, (m,), (s,)) for n, m, s in (("a", 0, 0), ("b", 0, 0), ("c", 9e5, 9e5))])
    assert not on_another_scale([hello(n, (m,), (1e-3,)) for n, m in (("a", 20.0), ("b", 25.0), ("c", 30.0))])
    assert not on_another_scale([*sites, hello("c", (9e9, 9e9), (0.0, 0.0), n_train=0)])


def test_two_sites_on_two_scales_are_both_named() -> None:
    (doubt,) = scale_doubts([hello("a", (1.0, 2.0), (1.0, 1.0)), hello("b", (1.0, 9000.0), (1.0, 1.0))])
    assert "column 2 of the table" in doubt
    assert " a (mean 2" in doubt
    assert " b (mean 9000" in doubt
    assert not scale_doubts([hello("a", (1.0,), (1.0,)), hello("b", (90.0,), (9.0,))])


def test_a_count_alone_cannot_take_over_the_normalisation() -> None:
    sites = [hello("a", (0.4,), (0.3,)), hello("b", (0.5,), (0.3,)), hello("c", (0.0,), (0.0,), n_train=10**8)]
    assert common_spec(sites, OWN).std[0] > 3e-3  # 3e-4 by the counts as claimed
    honest = [hello("a", (0.0,), (1.0,)), hello("b", (1.0,), (1.0,), n_train=300)]
    assert common_spec(honest, OWN).mean == (0.75,)


def test_most_clients_decide_who_does_not_belong_not_the_first() -> None:
    first, *rest = [hello(name, (0.0,), (1.0,)) for name in "abc"]
    stranger = hello("0", (0.0, 0.0), (1.0, 1.0))
    assert list(outsiders([stranger, first, *rest])) == ["0"]
    assert "have data" not in outsiders([hello("0", (), (), partition_hash="x"), first, *rest])["0"]
    assert outsiders([stranger, first]) == {}
    with pytest.raises(RunFailedError, match=r"0: 2, a: 1"):
        common_spec([stranger, first], OWN)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"partition_hash": "x"}, "do not share one partition"),
        ({"input_shape": [1, 9, 9]}, "ward-c has inputs of shape 1 x 9 x 9"),
        ({"mean": [1e300], "std": [1e300]}, "images cannot have"),
    ],
)
def test_a_site_that_does_not_fit_is_refused_and_the_others_begin(
    changes: dict, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own_site_module.own_site.cache_clear()
    sites = {f"ward-{n}": archive(tmp_path / f"{n}.npz", rows_of(0, 1, part=i)[:40]) for i, n in enumerate("abc")}
    grid, roster = OwnGrid(dict(sorted(sites.items(), reverse=True)), greets_with(2, **changes)), Roster(OWN)
    wait_for_clients(roster, grid)
    assert [client.name for client in roster.online()] == ["ward-a", "ward-b"]
    assert np.isfinite(roster.spec.std).all()
    assert reason in caplog.text


@pytest.mark.parametrize("shape", [(0,), (1, 10**6, 10**6)])
def test_inputs_without_values_or_of_more_than_memory_holds_are_refused(shape: tuple[int, ...]) -> None:
    moments = {"mean": (0.0,) * shape[0], "std": (0.0,) * shape[0]}
    assert "give each from 1 to 100,000,000 values" in misfit(hello("w", **moments, input_shape=shape), OWN, None)
