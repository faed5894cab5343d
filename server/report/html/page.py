"""The page: what a run was, how well it did, and for whom it did worst."""

from collections.abc import Mapping
from html import escape
from typing import Any

from pfedgp_core.metrics.summary import summarise
from pfedgp_core.words import size
from server.report.html.drawing import Drawing
from server.report.html.figures import confusion_map, over_rounds, reliability, small_reliability
from server.report.html.run_files import RunFiles, worst_first
from server.report.html.style import CSS, POLICY, SCRIPT
from server.report.html.tables import (
    MOST_CLASSES,
    certificate_table,
    client_table,
    confusion_table,
    settings_table,
    temperature_table,
    value_table,
)
from server.report.wording import (
    MISSING,
    OWN,
    doubt_of,
    duration,
    measure,
    metric_behind,
    number,
    percent,
    telling,
    title,
)

__all__ = ["MOST_DIAGRAMS", "page", "round_figures"]

MOST_DIAGRAMS = 120  # of clients in the page; the table and calibration.json have them all
_OWN_CLASSES = (
    " Models predict among all their classes; own-class results are of the same predictions, restricted to the classes "
    "of the client's training data."
)
_ONLY_OWN_CLASSES = " Models predict among the classes of their client's training data, and among no others."
_TEMPERATURES = ("temperature", "model_temperature")


def page(run: RunFiles) -> str:
    """Return the report of a run as one HTML text that needs nothing else."""
    sections = {
        "Rounds": _rounds(run),
        "Clients": _clients(run),
        "Calibration": _calibration(run),
        "Class confusion": _confusion(run),
        "Certificates": certificate_table(run.certificates) if run.certificates else "",
        "Bytes and seconds": _costs(run),
        "Settings": f'<div class="pairs">{settings_table(run.settings)}</div>',
    }
    shown = {name: body for name, body in sections.items() if body}
    links = "".join(f'<li><a href="#{_anchor(name)}">{name}</a></li>' for name in shown)
    body = "\n".join(
        f'<section id="{_anchor(name)}"><h2>{name}</h2>\n{text}\n</section>' for name, text in shown.items()
    )
    name = escape(run.path.name)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>pFedGP run {name}</title>
<style>{CSS}</style>
</head>
<body>
<header>
<h1>pFedGP run {name}</h1>
{_head(run)}
<nav aria-label="Sections"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
<footer>{_origin(run)}</footer>
<script>{SCRIPT}</script>
</body>
</html>
"""


def round_figures(run: RunFiles) -> dict[str, Drawing]:
    """Return a figure for each measure that was taken over the rounds, by its key."""
    keys = dict.fromkeys(key for record in run.rounds for key, value in record.items() if _is_measure(key, value))
    best = max((int(r["round"]) for r in run.rounds if r.get("best")), default=None)
    figures = {}
    for key in keys:
        points = [(int(r["round"]), float(r[key])) for r in run.rounds if _is_measure(key, r.get(key))]
        figures[key] = over_rounds(_capital(title(key)), key, points, best if key.startswith("validation_") else None)
    # Validation first: it is what a reader looks for.
    return dict(sorted(figures.items(), key=lambda item: not item[0].startswith("validation_")))


def _head(run: RunFiles) -> str:
    s, summary = run.settings, run.summary
    lead = (
        f"{s.get('dataset')}, {s.get('variant')} GP, {summary.get('clients', s.get('clients'))} clients, "
        f"{len(run.rounds)} of {s.get('rounds')} rounds, seed {s.get('seed')}"
    )
    notices = []
    if not summary:
        notices.append("This run was cut off: it has no summary, and no test results.")
    elif summary.get("status") != "completed":
        notices.append(f"This run failed: {summary.get('reason', 'no reason is known')}")
    missing = summary.get("missing_clients") or {}
    if missing:
        listed = ", ".join(f"{name} ({reason})" for name, reason in missing.items())
        notices.append(f"No test result from: {listed}")
    notices += [str(note) for note in summary.get("notes") or ()]
    cards = {title(key): _card(key, summary[key]) for key in telling([summary]) if _is_result(key)}
    if "test_samples" in summary:
        cards["test samples"] = f"{summary['test_samples']}"
    if "best_round" in summary:
        cards["best round"] = f"{summary['best_round']}"
    listed = "".join(f"<div><dt>{escape(_capital(k))}</dt><dd>{escape(v)}</dd></div>" for k, v in cards.items())
    return (
        f'<p class="lead">{escape(lead)}</p>\n'
        + "".join(f'<p class="notice">{escape(text)}</p>\n' for text in notices)
        + (f'<dl class="cards">{listed}</dl>' if listed else "")
    )


def _rounds(run: RunFiles) -> str:
    figures = "\n".join(f"<figure>{figure.inline_svg()}</figure>" for figure in round_figures(run).values())
    return f'<div class="charts">{figures}</div>' if figures else ""


def _clients(run: RunFiles) -> str:
    if not run.clients:
        return ""
    note = "Each client is tested with its own model on its own data; the worst come first. Click a heading to sort."
    if own := [key for key in run.clients[0] if key.startswith(OWN)]:
        note += _OWN_CLASSES if set(own) <= set(telling(run.clients)) else _ONLY_OWN_CLASSES
    return f"<p>{note}</p>\n{client_table(run.clients)}"


def _calibration(run: RunFiles) -> str:
    if run.calibration is None:
        return ""
    calibration = run.calibration
    pooled = reliability("Reliability, all clients", calibration.pooled).inline_svg()
    order = [row["name"] for row in worst_first(run.clients) if row.get("name") in calibration.clients]
    names = order or list(calibration.clients)
    small = "\n".join(
        f"<figure>{small_reliability(name, calibration.clients[name]).inline_svg()}"
        f"<figcaption><b>{escape(name)}</b>{escape(_diagram_text(calibration.clients[name]))}</figcaption></figure>"
        for name in names[:MOST_DIAGRAMS]
    )
    more = len(names) - MOST_DIAGRAMS
    rest = f"<p>{more} more clients are in calibration.json.</p>" if more > 0 else ""
    return (
        "<p>A solid bar is the accuracy of the predictions in a bin of confidence, a red frame its distance to the "
        "mean confidence; on the dashed line the two agree.</p>\n"
        f'<div class="split"><figure>{pooled}</figure><div>{_temperature_text(run)}\n'
        f"{temperature_table(calibration)}</div></div>\n"
        f'<h3>Clients, worst first</h3>\n<div class="small">{small}</div>\n{rest}'
    )


def _temperature_text(run: RunFiles) -> str:
    calibration = run.calibration
    assert calibration is not None
    chosen, model = calibration.temperature, calibration.model_temperature
    if chosen is None or model is None:
        return "<p>There are no validation data, so no temperature was chosen.</p>"
    test = {t: summarise(sums) for t, _, sums in calibration.temperatures}
    samples = max((validation.n for _, validation, _ in calibration.temperatures), default=None)
    doubt = doubt_of(chosen, samples)
    measured = ", ".join(
        f"{number(numbers.get('ece'))} and {number(numbers.get('nll'))} at temperature {t:g}"
        for t, numbers in {t: test.get(t, {}) for t in (1.0, chosen, model)}.items()
    )
    why = escape(f" ({doubt})") if doubt else ""
    return (
        f"<p>On the pooled validation data, temperature {chosen:g} has the smallest ECE{why}; the model's temperature, "
        f"by a more prudent rule, is {model:g}. On the test data ECE and NLL are {measured}. All other numbers of this "
        "page are at temperature 1.</p>"
    )


def _confusion(run: RunFiles) -> str:
    calibration = run.calibration
    if calibration is None or not calibration.confusion:
        return ""
    table = confusion_table(calibration)
    if len(calibration.class_names) <= MOST_CLASSES:
        return table
    counts = {(true, predicted): n for true, predicted, n in calibration.confusion}
    drawn = confusion_map(calibration.class_names, counts).inline_svg()
    return f'<div class="split"><figure>{drawn}</figure>{table}</div>'


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
        "Clients' computing time, network": duration(total(lambda r: _seconds(r, "network"))),
        "Clients' computing time, Gaussian processes": duration(total(lambda r: _seconds(r, "gp"))),
        "Replies that failed": f"{total(lambda r: len(r.get('failed') or ())):.0f}",
    }
    events: dict[str, int] = {}
    for record in run.rounds:
        for name, count in (record.get("counters") or {}).items():
            events[name] = events.get(name, 0) + count
    values |= {f"Numerical recoveries, {name.replace('_', ' ')}": f"{count}" for name, count in sorted(events.items())}
    return f'<div class="pairs">{value_table("What the run cost", values)}</div>'


def _origin(run: RunFiles) -> str:
    origin = run.summary.get("run") or {}
    versions = origin.get("versions") or {}
    parts = [f"{name} {version}" for name, version in versions.items()] if isinstance(versions, Mapping) else []
    return escape("Made with " + ", ".join(parts) if parts else "Made by pFedGP")


def _diagram_text(sums: Any) -> str:
    values = summarise(sums)
    if not values["n"]:
        return "no sample"
    return f"accuracy {percent(values['accuracy'])}, ECE {number(values['ece'])}, {values['n']} samples"


def _card(key: str, value: Any) -> str:
    if key in _TEMPERATURES:
        return MISSING if value is None else f"{value:g}"
    return measure(key, value) if value is None or isinstance(value, int | float) else str(value)


def _seconds(record: Mapping[str, Any], phase: str) -> float:
    return float((record.get("seconds") or {}).get(phase) or 0.0)


def _is_measure(key: str, value: Any) -> bool:
    wanted = key.startswith("validation_") or key == "train_loss"
    return wanted and isinstance(value, int | float) and not isinstance(value, bool)


def _is_result(key: str) -> bool:
    return key in _TEMPERATURES or (metric_behind(key) is not None and not key.startswith("validation_"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")
