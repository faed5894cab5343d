"""The page of an evaluation: every site before round 1 and with the model, and what the sites gain."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from pfedgp_core.words import counted
from server.report.html.style import CSS, POLICY, SCRIPT
from server.report.html.tables import Cell, Head, Table
from server.report.html.templates import render
from server.report.wording import points

__all__ = ["evaluation_page"]

_LEAD = (
    "Each site's Gaussian processes on its own data: on the network before round 1, as a site alone would have it, and "
    "on the model. Nothing was trained. Accuracies are of the sites' own test samples, with 95 % intervals; NLL and "
    "ECE are at temperature 1. The interval of a gain takes both accuracies as independent, so it is rather too wide."
)
_HEADS = ("Site", "gain, points", "accuracy alone, %", "accuracy with the model, %", "NLL alone", "NLL with the model")
_MORE = ("ECE alone", "ECE with the model", "test samples", "training samples")


def evaluation_page(results: Mapping[str, Any]) -> str:
    """Return one HTML text that needs nothing else, from what ``evaluation.json`` holds."""
    mean, model = results["mean"], results["model"]
    shown = [row for row in results["sites"] if not row["suppressed"]]
    kept_back = [row["name"] for row in results["sites"] if row["suppressed"]]
    notices = [
        *(
            [f"Fewer than {results['min_cell']} test samples, so no number: {', '.join(kept_back)}."]
            if kept_back
            else []
        ),
        *(f"{name} did not answer: {reason}." for name, reason in results["failed"].items()),
        *(f"Refused: {reason}" for reason in results["refused"]),
    ]
    headline, cards = None, []
    if mean["gain"] is not None:
        details = f"{_interval(mean['gain'], signed=True)}, mean over {counted(mean['sites'], 'site')}"
        headline = {"value": points(mean["gain"]["value"]), "name": "points of accuracy gained", "details": details}
        cards = [
            (name, f"{100 * mean[key]['value']:.1f} %", _interval(mean[key]))
            for name, key in (("alone, before round 1", "local"), ("with the model", "federated"))
        ]
        better = sum(row["gain"]["low"] > 0 for row in shown)
        worse = sum(row["gain"]["high"] < 0 for row in shown)
        cards.append(("sites whose interval is above 0", str(better), f"below 0: {worse}"))
    rows = [_row(row) for row in sorted(shown, key=lambda row: row["gain"]["value"])]
    heads = [Head(text, order="ascending" if text == "gain, points" else "none") for text in (*_HEADS, *_MORE)]
    about = (
        f"Model {model['sha256'][:12]} of round {model['round']}, method {model['method']}, network {model['network']}"
    )
    return render(
        "page",
        name=f"evaluation of {model['sha256'][:12]}",
        policy=POLICY,
        css=Markup(CSS),
        script=Markup(SCRIPT),
        lead=_LEAD,
        notices=notices,
        headline=headline,
        cards=cards,
        sections=[("Sites", Table("Gain of each site, the smallest first", heads, rows).html())] if rows else [],
        origin=about,
    )


def _row(row: Mapping[str, Any]) -> list[Cell]:
    local, federated, gain = row["local"], row["federated"], row["gain"]
    cells = [Cell(row["name"], header=True), _cell(points(gain["value"]), gain["value"], _interval(gain, signed=True))]
    for side in (local, federated):
        share = side["accuracy"]
        cells.append(_cell(f"{100 * share['value']:.1f}", share["value"], _interval(share)))
    for key in ("nll", "ece"):
        cells += [
            _cell("n/a" if side[key] is None else f"{side[key]:.3f}", side[key] or 0.0) for side in (local, federated)
        ]
    return [*cells, _cell(str(row["n_test"]), row["n_test"]), _cell(str(row["n_train"]), row["n_train"])]


def _cell(text: str, value: float, small: str = "") -> Cell:
    return Cell(text, sort=repr(value), small=small)


def _interval(found: Mapping[str, float], signed: bool = False) -> str:
    low, high = (f"{100 * found[key]:{'+' if signed else ''}.1f}" for key in ("low", "high"))
    return f"{low} to {high}"
