"""What was refused, failed or came late in the latest runs, and what sites made of published models."""

from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp.dashboard.runs import FoundRun
from pfedgp_core.checks import printable
from server.run.refusals import Refusal

__all__ = ["publications", "refusals"]

RUNS = 5  # the latest ones, whose refusals are shown
MOST = 200  # rows
SITES = 1000  # of a publication


def refusals(runs: Sequence[FoundRun], names: Mapping[str, str]) -> tuple[list[dict[str, Any]], int]:
    """Rows of the latest runs, sites that cannot take part first, and how many there are beyond.

    Parameters
    ----------
    runs : sequence of FoundRun
        The latest first.
    names : mapping of str to str
        Sites by node id.
    """
    rows: list[dict[str, Any]] = []
    beyond = 0
    for run in [one for one in runs if one.reader is not None][:RUNS]:
        assert run.reader is not None
        replies = run.reader.replies
        of_run = [*_told(run.look.get("refusals", ()), names), *replies.rows()]
        rows += [
            {"run": run.row["name"], "time": None, **row, "took_part": row["site"] in replies.took_part}
            for row in of_run
        ]
        beyond += replies.beyond
    return rows[:MOST], beyond + max(0, len(rows) - MOST)


def _told(told: Sequence[Refusal], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each site and sentence, the latest first."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in told:
        kind = "refused" if one.lasting else "told"
        site = names.get(one.node, f"node {one.node}")
        row = found.setdefault(
            (one.node, one.words),
            {
                "kind": kind,
                "site": printable(site, 100),
                "reason": one.words.removeprefix("refused: "),
                "times": 0,
                "round": None,
            },
        )
        row["times"] += 1
        row["time"] = one.time
    latest = sorted(found.values(), key=lambda row: str(row["time"]), reverse=True)
    return sorted(latest, key=lambda row: row["kind"] != "refused")


def publications(runs: Sequence[FoundRun]) -> list[dict[str, Any]]:
    """What sites answered to models of these runs, the latest first."""
    return [_publication(run) for run in runs if isinstance(run.look.get("publication"), dict)]


def _publication(run: FoundRun) -> dict[str, Any]:
    about = run.look["publication"]
    model = about.get("model") if isinstance(about.get("model"), dict) else {}
    given = about.get("sites")
    sites = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return {
        "run": run.row["name"],
        "kind": "publication" if run.row["kind"] == "publication" else "end of the run",
        "time": run.row["changed"],
        "status": _text(about.get("status"), 40),
        "model": _text(model.get("sha256"), 64),
        "onboarded": _whole(about.get("onboarded")),
        "failed": _whole(about.get("failed")),
        "sites": [
            {
                "name": _text(one.get("client"), 100) or f"node {_text(one.get('node'), 30)}",
                "outcome": _text(one.get("outcome"), 60),
                "samples": _whole(one.get("samples")),
                "error": _text(one.get("error"), 300),
            }
            for one in sites[:SITES]
        ],
    }


def _text(value: Any, most: int) -> str:
    return printable(str(value), most) if isinstance(value, str | int | float) else ""


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
