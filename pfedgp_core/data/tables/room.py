"""What is too much for rules on which sites agree: a site that fills them alone, and columns that do not fit.

Rules travel with every request, and each text in them is an input with a name, so all sites' texts together have a
bound. A site that brings far more of them than others, and than its share of the room, is refused: texts that most
sites tell count for nobody. Where no site is such a one, the columns that take the most are no features.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from pfedgp_core.column_rules import LIMIT
from pfedgp_core.data.tables.summary import TableSummary
from pfedgp_core.words import cut

__all__ = ["crowding_columns", "crowding_sites"]

FAR_MORE = 3  # times what is usual at the other sites
PER_COLUMN = 100  # characters of a rule beside its name and texts
FEWEST_PER_TEXT = 20  # characters that an input costs at least: its moments are in every greeting
_NAME_SHARE = 8  # characters of inputs' names, as a greeting has them, for which there is room beside one of the rules

Costs = Mapping[str, Mapping[str, float]]  # characters of each text, by column


def crowding_sites(tables: Sequence[TableSummary], given: str = "") -> dict[str, str]:
    """Find sites without which the rules of the others have room, as far as single sites are the cause.

    Parameters
    ----------
    tables : sequence of TableSummary
        Of all sites.
    given : str
        Rules of other columns, as the setting ``column-rules`` has them.

    Returns
    -------
    dict of str to str
        A reason by the site's name.
    """
    costs, held = _costs(tables), {table.site: _texts(table) for table in tables}
    holders = Counter(each for texts in held.values() for each in texts)
    refused: dict[str, str] = {}
    while sum(costs[name][value] for name, value in +holders) > _room(tables, given):
        told = {
            site: {each: costs[each[0]][each[1]] / holders[each] for each in texts if 2 * holders[each] <= len(held)}
            for site, texts in held.items()
        }
        shares = {site: sum(parts.values()) for site, parts in told.items()}
        site = max(sorted(shares), key=shares.__getitem__)
        usual = median([share for other, share in shares.items() if other != site] or [shares[site]])
        if shares[site] <= max(FAR_MORE * usual, LIMIT / len(held)):
            break
        by_column = Counter[str]()
        for (name, _), part in sorted(told[site].items()):
            by_column[name] += round(part)
        most = ", ".join(repr(cut(name, 60)) for name, _ in by_column.most_common(2))
        refused[site] = (
            f"{site} tells of {shares[site]:,.0f} characters of texts that most sites do not have, the most in {most}, "
            f"and rules on which sites agree hold {LIMIT:,}: look whether such columns are categories at all, empty "
            "them, or have the run give rules for them."
        )
        holders.subtract(held.pop(site))
    return refused


def crowding_columns(tables: Sequence[TableSummary], given: str = "") -> set[str]:
    """Find the columns of texts that take the most, without which the others' rules have room; see `crowding_sites`."""
    sizes = {name: sum(texts.values()) for name, texts in _costs(tables).items()}
    left_out, over = set[str](), sum(sizes.values()) - _room(tables, given)
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        if over <= 0:
            break
        left_out.add(name)
        over -= sizes[name]
    return left_out


def _room(tables: Sequence[TableSummary], given: str) -> int:
    """Characters that are left for texts."""
    names = {name for table in tables for name in table.columns}
    return LIMIT - len(given) - sum(PER_COLUMN + _length(name) for name in names)


def _texts(table: TableSummary) -> set[tuple[str, str]]:
    return {(name, value) for name, column in table.columns.items() for value in column.values}


def _costs(tables: Sequence[TableSummary]) -> Costs:
    costs: dict[str, dict[str, float]] = {}
    for table in tables:
        for name, column in table.columns.items():
            for value in column.values:
                costs.setdefault(name, {})[value] = _cost(name, value)
    return costs


def _cost(name: str, value: str) -> float:
    """Characters of a text in the rules, or what its input takes of a greeting where that is more."""
    in_greeting = len(json.dumps(f"{name}={value}")) / _NAME_SHARE
    return max(_length(value) + 2, in_greeting, FEWEST_PER_TEXT)


def _length(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False))
