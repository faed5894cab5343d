"""The page of a report: settings, results over rounds, and all clients, the worst first."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from pfedgp_core.metrics.summary import summarise
from pfedgp_core.words import counted, few, size
from server.report.drawing import Drawing
from server.report.figures import confusion_map, is_measured, record_figure, reliability, small_reliability
from server.report.html.class_section import class_section
from server.report.html.frame import framed
from server.report.html.headline import all_results, headline, key_results, row_estimate
from server.report.html.model_card import model_card
from server.report.html.run_files import Calibration, RunFiles, worst_first
from server.report.html.style import SCRIPT
from server.report.html.tables import (
    MOST_CLASSES,
    certificate_table,
    client_table,
    confusion_table,
    settings_table,
    temperature_table,
    value_table,
)
from server.report.html.templates import render
from server.report.interval_bars import MOST_BARS, interval_bars
from server.report.wording import (
    OWN,
    doubt_of,
    duration,
    number,
    percent,
    telling,
)
from server.run.origin import OF_SIMULATIONS

__all__ = ["MOST_DIAGRAMS", "page", "round_figures"]

MOST_NAMED = 20  # clients in a sentence
MOST_DIAGRAMS = 120  # of clients in the page; the table and calibration.json have them all
_OWN_CLASSES = (
    " Models predict among all their classes; own-class results are of the same predictions, restricted to the classes "
    "of the site's training data."
)
_ONLY_OWN_CLASSES = " Models predict among the classes of their site's training data, and among no others."


def page(run: RunFiles) -> str:
    """Return the report of a run as one HTML text that needs nothing else."""
    results = all_results(run)
    sections = {
        "Sites": _clients(run),
        "Classes": class_section(run),
        "Class confusion": _confusion(run),
        "Calibration": _calibration(run),
        "Certificates": certificate_table(run.certificates).html() if run.certificates else "",
        "About this model": _about(run),
        "All results": _folded("Results and their intervals", results.html()) if results else "",
        "Training": _rounds(run),
        "Bytes and seconds": _folded("What the run cost", _costs(run)),
        "Settings": _folded("All settings", render("pairs", table=settings_table(_telling_settings(run)))),
    }
    body = render(
        "page",
        name=run.path.name,
        script=Markup(SCRIPT),
        lead=_lead(run),
        notices=_notices(run),
        headline=headline(run),
        cards=key_results(run),
        sections=[(name, body) for name, body in sections.items() if body],
        origin=_origin(run),
    )
    return framed(f"pFedGP run {run.path.name}", body)


def round_figures(run: RunFiles) -> dict[str, Drawing]:
    """Return a figure for each measure that was taken over the rounds, by its key."""
    keys = dict.fromkeys(key for record in run.rounds for key, value in record.items() if _is_drawn(key, value))
    # Validation first: it is what a reader looks for.
    ordered = sorted(keys, key=lambda key: not key.startswith("validation_"))
    return {key: record_figure(run.rounds, key) for key in ordered}


def _lead(run: RunFiles) -> str:
    summary = run.summary
    sites = int(summary.get("clients") or len(run.clients))
    started = str((summary.get("run") or {}).get("started", ""))[:10]
    done = "" if summary.get("status") == "completed" else f", {len(run.rounds)} of {run.settings.get('rounds')} rounds"
    counts = run.data.endswith(("site", "sites"))  # own data say of how many sites they are
    data = run.data if counts else f"{run.data}, {counted(sites, 'site')}"
    return f"{data}{done}" + (f", {started}" if started else "")


def _telling_settings(run: RunFiles) -> dict[str, Any]:
    """The settings that the run was made with: those of a simulated data set say nothing about sites' own data."""
    return {key: value for key, value in run.settings.items() if not (run.own_data and key in OF_SIMULATIONS)}


def _notices(run: RunFiles) -> list[str]:
    """What a reader has to know first."""
    summary, notices = run.summary, []
    if not summary:
        notices.append("This run was cut off: it has no summary, and no test results.")
    elif summary.get("status") != "completed":
        notices.append(f"This run failed: {summary.get('reason', 'no reason is known')}")
    missing = summary.get("missing_clients") or {}
    if missing:
        listed = few([f"{name} ({reason})" for name, reason in missing.items()], MOST_NAMED)
        notices.append(f"No test result from: {listed}")
    unknown = (summary.get("initial") or {}).get("missing_clients") or {}
    if unknown:
        listed = few([f"{name} ({reason})" for name, reason in unknown.items()], MOST_NAMED)
        notices.append(f"What joining gives is not known of: {listed}")
    return notices + [str(note) for note in summary.get("notes") or ()]


def _folded(summary: str, body: Markup | str) -> Markup | str:
    """What few readers look for, behind a click; empty stays empty."""
    return render("folded", summary=summary, body=body) if body else ""


def _about(run: RunFiles) -> str:
    """Who, when, of which data, for which use and with which limits: the model card without its results."""
    card = {section: entries for section, entries in model_card(run).items() if section != "Results"}
    return render("card", card=card)


def _rounds(run: RunFiles) -> str:
    figures = list(round_figures(run).values())
    return render("rounds", figures=figures) if figures else ""


def _clients(run: RunFiles) -> str:
    if not run.clients:
        return ""
    note = "Each site is tested with its own model on its own data; the worst come first. Click a heading to sort."
    if run.calibration is not None:
        note += " NLL, ECE and Brier score are at temperature 1."
    if own := [key for key in run.clients[0] if key.startswith(OWN)]:
        note += _OWN_CLASSES if set(own) <= set(telling(run.clients)) else _ONLY_OWN_CLASSES
    rows = [(row["name"], row_estimate(row, "accuracy")) for row in worst_first(run.clients)]
    shares = [(name, share) for name, share in rows if share is not None]
    heading = "Accuracy by site, worst first" if len(shares) <= MOST_BARS else f"The {MOST_BARS} worst sites"
    figure = interval_bars(heading, "accuracy", shares) if shares else None
    return render("bars and table", text=note, figure=figure, table=client_table(run.clients))


def _calibration(run: RunFiles) -> str:
    calibration = run.calibration
    if calibration is None:
        return ""
    shown, at = calibration.pooled, ""
    if calibration.at_model_temperature.n:
        shown, at = calibration.at_model_temperature, ", as predict answers"
    order = [row["name"] for row in worst_first(run.clients) if row.get("name") in calibration.clients]
    names = order or list(calibration.clients)
    clients = [(name, calibration.clients[name]) for name in names[:MOST_DIAGRAMS]]
    return render(
        "calibration",
        pooled=reliability(f"Reliability, all sites{at}", shown),
        temperatures=_temperature_text(calibration),
        table=temperature_table(calibration),
        clients=[(name, _diagram_text(sums), small_reliability(name, sums)) for name, sums in clients],
        more=len(names) - MOST_DIAGRAMS,
    )


def _temperature_text(calibration: Calibration) -> str:
    chosen, model = calibration.temperature, calibration.model_temperature
    if chosen is None and model is None:
        return "There are no validation data, so no temperature was chosen."
    test = {t: summarise(sums) for t, _, sums in calibration.temperatures}
    said = []
    if chosen is not None:
        samples = max((validation.n for _, validation, _ in calibration.temperatures), default=None)
        doubt = doubt_of(chosen, samples)
        why = f" ({doubt})" if doubt else ""
        said.append(f"On the pooled validation data, temperature {chosen:g} has the smallest ECE{why}.")
    if model is not None:
        rule = f", chosen by {calibration.rule}," if calibration.rule else ""
        said.append(f"The model's temperature{rule} is {model:.3g}.")
        test[model] = summarise(calibration.at_model_temperature)
    shown = {t: test.get(t, {}) for t in (1.0, chosen, model) if t is not None}
    measured = ", ".join(
        f"{number(numbers.get('ece'))} and {number(numbers.get('nll'))} at temperature {t:.3g}"
        for t, numbers in shown.items()
    )
    said.append(f"On the test data ECE and NLL are {measured}. The sites' diagrams and columns are at temperature 1.")
    return " ".join(said)


def _confusion(run: RunFiles) -> str:
    calibration = run.calibration
    if calibration is None or not calibration.confusion:
        return ""
    positive = str(run.settings.get("positive-class", ""))
    table = confusion_table(calibration, positive)
    if len(calibration.class_names) <= MOST_CLASSES:
        return render("confusion", table=table, positive=positive if positive in calibration.class_names else "")
    counts = {(true, predicted): n for true, predicted, n in calibration.confusion}
    return render("figure and table", figure=confusion_map(calibration.class_names, counts), table=table)


def _costs(run: RunFiles) -> str:
    if not run.rounds:
        return ""

    def total(get: Any) -> float:
        return float(sum(get(record) for record in run.rounds))

    seconds = run.summary.get("seconds")
    values = {
        "Model vectors sent by the server": size(total(lambda r: r.get("bytes_sent", 0))),
        "Model vectors received by the server": size(total(lambda r: r.get("bytes_received", 0))),
        "Whole run": duration(seconds),
        "Rounds": duration(total(lambda r: _seconds(r, "round"))),
        "of these, training": duration(total(lambda r: _seconds(r, "train"))),
        "of these, validation": duration(total(lambda r: _seconds(r, "evaluate"))),
        "Clients' time in the network, by the clock": duration(total(lambda r: _seconds(r, "network"))),
        "Clients' time in Gaussian processes, by the clock": duration(total(lambda r: _seconds(r, "gp"))),
        "Clients' CPU time, in all": duration(total(lambda r: _seconds(r, "cpu"))),
        "Gradients of all updates": f"{total(lambda r: r.get('gradients', 0)):,.0f}",
        "Replies that failed": f"{total(lambda r: len(r.get('failed') or ())):.0f}",
        "Updates that were not waited for": f"{total(lambda r: len(r.get('late') or ())):.0f}",
        "Updates that were shortened": f"{total(lambda r: len(r.get('clipped') or ())):.0f}",
    }
    events: dict[str, int] = {}
    for record in run.rounds:
        for name, count in (record.get("counters") or {}).items():
            events[name] = events.get(name, 0) + count
    values |= {f"Numerical recoveries, {name.replace('_', ' ')}": f"{count}" for name, count in sorted(events.items())}
    return render("pairs", table=value_table("What the run cost", values))


def _origin(run: RunFiles) -> str:
    origin = run.summary.get("run") or {}
    versions = origin.get("versions") or {}
    parts = [f"{name} {version}" for name, version in versions.items()] if isinstance(versions, Mapping) else []
    return "Made with " + ", ".join(parts) if parts else "Made by pFedGP"


def _diagram_text(sums: Any) -> str:
    values = summarise(sums)
    if not values["n"]:
        return "no sample"
    return f"accuracy {percent(values['accuracy'])}, ECE {number(values['ece'])}, {values['n']} samples"


def _seconds(record: Mapping[str, Any], phase: str) -> float:
    return float((record.get("seconds") or {}).get(phase) or 0.0)


def _is_drawn(key: str, value: Any) -> bool:
    return (key.startswith("validation_") or key == "train_loss") and is_measured(value)
