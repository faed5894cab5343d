"""Rules on which sites agree: all sites' texts and means, whatever their order, and no site far from the others."""

import itertools
import json
from typing import Any

import numpy as np
import pytest

from pfedgp_core.column_rules import UNKNOWN, column_rules, rules_text
from pfedgp_core.data.tables.agreement import agreed_rules, of_another_kind
from pfedgp_core.data.tables.encode import encoded
from pfedgp_core.data.tables.raw import raw_table
from pfedgp_core.data.tables.summary import ColumnSummary, TableSummary
from pfedgp_core.errors import RunFailedError


def told(site: str, **columns: list[Any]) -> TableSummary:
    n = len(next(iter(columns.values())))
    return TableSummary.of(site, raw_table(columns, [str(i) for i in range(n)]))


def rules(*tables: TableSummary, given: str = "") -> dict[str, Any]:
    return json.loads(agreed_rules(tables, given))


def ward(seed: int, *stages: str) -> TableSummary:
    draw = np.random.default_rng(seed)
    return told(
        f"ward-{seed}",
        age=(50 + 10 * draw.normal(size=60)).tolist(),
        stage=[stages[i % len(stages)] for i in range(60)],
        smoker=[("yes", "no")[i % 3 == 0] for i in range(60)],
    )


WARDS = (ward(0, "I", "II"), ward(1, "II", "III"), ward(2, "IV", "I"))


def test_texts_of_all_sites_in_one_order_whichever_site_comes_first() -> None:
    written = {agreed_rules(order) for order in itertools.permutations(WARDS)}
    assert len(written) == 1
    stage = json.loads(written.pop())["stage"]
    assert stage["values"] == [UNKNOWN, "I", "II", "III", "IV"]
    assert (stage["other"], stage["missing"]) == (UNKNOWN, UNKNOWN)
    assert "indicator" not in stage


def test_the_mean_is_that_of_all_rows() -> None:
    values = [np.random.default_rng(seed).gamma(2.0, size=20 + 7 * seed) for seed in range(4)]
    tables = [told(f"s{i}", crp=each.tolist()) for i, each in enumerate(values)]
    assert rules(*tables)["crp"]["missing"] == float(f"{np.concatenate(values).mean():.6g}")


def test_gaps_make_an_indicator_and_few_gaps_none() -> None:
    many = told("a", crp=[None] * 6 + [1.0] * 20)
    few = told("b", crp=[None] * 4 + [2.0] * 20)  # whose four count as the mean
    mean = (20 * 1 + 24 * 2) / 44
    assert rules(many, few)["crp"] == {
        "kind": "number",
        "missing": float(f"{mean:.6g}"),
        "censored": "half",
        "indicator": True,
    }
    assert "indicator" not in rules(few)["crp"]


def test_true_and_false_have_what_most_rows_have() -> None:
    assert rules(*WARDS)["smoker"] == {"kind": "boolean", "missing": "true", "other": "true"}


def test_other_texts_make_true_and_false_texts() -> None:
    mixed = told("b", smoker=["yes"] * 10 + ["former"] * 10)
    assert rules(told("a", smoker=["yes", "no"] * 10), mixed)["smoker"]["values"] == [UNKNOWN, "former", "no", "yes"]


def test_numbers_as_texts_are_in_numeric_order_and_spellings_are_one() -> None:
    made = rules(
        told("a", grade=["10", "9a"] * 9, kind=["Benign"] * 9 + ["other"] * 9),
        told("b", grade=["9a", "2"] * 9, kind=["benign"] * 8 + ["BENIGN"] * 10),
    )
    assert made["kind"]["values"] == [UNKNOWN, "BENIGN", "other"]
    found = encoded(
        raw_table({"kind": ["bENIGN", "Other", "f"]}, "123"), column_rules(rules_text({"kind": made["kind"]}))
    )
    assert found.matrix(3).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert [fault.values for fault in found.unknown] == [("f",)]
    assert made["grade"]["values"] == [UNKNOWN, "10", "2", "9a"]


def test_texts_too_rare_to_name_are_no_feature() -> None:
    assert rules(told("a", name=[f"p{i}" for i in range(30)], age=[1.0] * 30))["name"] == {"kind": "ignore"}


def test_given_rules_stay() -> None:
    given = '{"bmi": {"kind": "number", "low": 10, "unit": "kg/m2"}}'
    assert rules(*WARDS, given=given)["bmi"] == json.loads(given)["bmi"]


def test_a_site_with_another_kind_is_named_and_two_do_not_begin() -> None:
    numbers = told("odd", stage=[float(i) for i in range(60)])
    texts = [told(f"s{i}", stage=["I", "II"] * 30) for i in range(2)]
    assert of_another_kind([*texts, numbers]) == {
        "odd": "odd has numbers in the column 'stage', and most sites have texts: write it as they do, or have the run "
        "give a rule for it."
    }
    assert of_another_kind([texts[0], numbers]) == {}
    with pytest.raises(RunFailedError, match="do not agree on the column 'stage' \\(odd: numbers, s0: texts\\)"):
        agreed_rules([texts[0], numbers])


def test_an_empty_column_has_a_say_in_nothing() -> None:
    empty = TableSummary("z", 40, {"stage": ColumnSummary("empty", 0, 40)})
    made = rules(told("a", stage=["I", "II"] * 30), empty)
    assert made["stage"]["values"] == [UNKNOWN, "I", "II"]
    assert made["stage"]["indicator"] is True
    assert rules(empty)["stage"] == {"kind": "ignore"}


@pytest.mark.parametrize("lie", [1e30, -1e30, 1e3])
def test_no_site_moves_a_mean_far(lie: float) -> None:
    honest = [ward(seed, "I", "II") for seed in range(4)]
    ages = ColumnSummary("number", 10**8, 0, lie, 1.0)
    liar = TableSummary("liar", 10**8, honest[0].columns | {"age": ages, "stage": honest[0].columns["stage"]})
    moved = rules(*honest, liar)["age"]["missing"] - rules(*honest)["age"]["missing"]
    assert abs(moved) < 3 * 10 * 3 / 7 + 2  # three spreads, with three of seven parts


def test_unknown_texts_and_gaps_are_no_value() -> None:
    made = column_rules(agreed_rules(WARDS))
    table = raw_table({"age": [60.0, 61.0, 62.0], "stage": ["II", "V", None], "smoker": ["yes", "never", None]}, "123")
    found = encoded(table, made)
    assert found.names == ["age", "stage=I", "stage=II", "stage=III", "stage=IV", "smoker"]
    assert found.matrix(3)[:, 1:].tolist() == [[0, 1, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    assert not found.faults
    assert [(fault.column, fault.values) for fault in found.unknown] == [("stage", ("V",)), ("smoker", ("never",))]


def test_inputs_of_one_name_and_too_long_ones_are_left_out() -> None:
    column = {
        "stage": ["I", "II"] * 30,
        "stage=I": [1.0] * 60,
        "crp": [None] * 30 + [1.0] * 30,
        "crp missing": [2.0] * 60,
    }
    pairs = {"a": ["b=c", "d"] * 30, "a=b": ["c", "d"] * 30}
    texts = {"t" * 150: ["short", "l" * 100] * 30, "u" * 196: ["none", "fits"] * 30}
    made = column_rules(agreed_rules([told("a", **column, **pairs, **texts)]))
    assert [made.of(name).kind for name in ("stage=I", "crp", "u" * 196)] == ["number", "number", "ignore"]
    assert made.of("stage").values == (UNKNOWN, "II")
    assert not made.of("crp").indicator
    assert (made.of("a").values, made.of("a=b").values) == ((UNKNOWN, "b=c", "d"), (UNKNOWN, "d"))
    assert made.of("t" * 150).values == (UNKNOWN, "short")


def test_an_input_of_the_settings_keeps_its_name() -> None:
    given = '{"x": {"kind": "category", "values": ["-", "y=z"]}}'
    made = rules(told("a", **{"x=y": ["z", "w"] * 30}), given=given)
    assert made["x=y"]["values"] == [UNKNOWN, "w"]


CELLS = {
    "number": lambda draw, _: float(draw.normal()),
    "limit": lambda draw, _: "<0.5" if draw.random() < 0.3 else float(draw.random()),
    "text": lambda draw, site: ("a", "B", "c ", "dd")[draw.integers(2 + site % 3)],
    "truth": lambda draw, _: ("yes", "no", "TRUE", "false")[draw.integers(4)],
    "date": lambda draw, _: f"20{draw.integers(10, 25)}-05-1{draw.integers(10)}",
    "name": lambda draw, site: f"p{site}-{draw.integers(10**6)}",
}


@pytest.mark.parametrize("seed", range(40))
def test_every_site_s_own_table_keeps_to_the_rules(seed: int) -> None:
    draw = np.random.default_rng(seed)
    gaps = draw.choice([0, 0.02, 0.3, 0.95], len(CELLS))
    tables = []
    for site in range(int(draw.integers(1, 5))):
        n = int(draw.integers(1, 80))
        columns = {
            kind: [None if draw.random() < share else cell(draw, site) for _ in range(n)]
            for (kind, cell), share in zip(CELLS.items(), gaps, strict=True)
        }
        tables.append(raw_table(columns, [str(i) for i in range(n)]))
    made = column_rules(agreed_rules([TableSummary.of(f"s{i}", table) for i, table in enumerate(tables)]))
    for table in tables:
        found = encoded(table, made)
        assert not found.faults
        assert np.isfinite(found.matrix(len(table))).all()
