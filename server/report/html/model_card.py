"""The model card of a run, by the sections of Mitchell et al. (2019), "Model cards for model reporting".

What a run cannot know, such as the use that its owners intend, stands as a question to them and not as a claim.
"""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.metrics.task_report import chosen_by_own, task_report
from pfedgp_core.registry import TASKS
from pfedgp_core.words import counted, few
from server.report.html.headline import all_results, ends, headline, key_results, row_estimate, worst_classes
from server.report.html.run_files import RunFiles
from server.report.wording import MISSING, title

__all__ = ["card_text", "model_card"]

Card = dict[str, dict[str, str]]
_MOST_NAMED = 20
_SHOWN = ("sensitivity", "specificity", "ppv", "npv", "f1", "auroc", "auprc")


def model_card(run: RunFiles) -> Card:
    """Return what the card says: section -> entry -> text."""
    classes = TASKS[task_report(str(run.settings["task"])).task].classes
    return {
        "Model details": _details(run),
        "Intended use": {
            "What it does": f"It {'names one of the classes' if classes else 'predicts a number'} for a sample of a "
            "site that has labelled samples of its own: each site has a model that is fitted on its own data.",
            "Intended use": "To be stated by those who run it: who reads the answer, and what they do with it.",
            "Out of scope": "A decision without a person. Samples of another kind, device or population than those of "
            "the site that the model is fitted on. Use as a medical device: this software has no such approval.",
        },
        "Factors": {
            "Sites": "Results are given for each site, the worst first.",
            "Groups of people": "None are known to the run: it has no results by age, sex or origin. Measure them at "
            "the sites before use.",
        },
        "Metrics": {
            "Measures": _measures(classes),
            "Intervals": "95 %. For shares: how far they may be off for other samples of the same sites, which count "
            "as independent. For other numbers: for other sites of the same kind.",
        },
        "Evaluation data": {
            "Data": run.data,
            "Test samples": f"{run.summary.get('test_samples', MISSING)}, held out by each site from its own data",
            "Not tested": few(list(run.summary.get("missing_clients") or {}), _MOST_NAMED) or "no site",
        },
        "Training data": _training(run),
        "Results": _results(run),
        "Ethical considerations": {
            "Privacy": "Samples and labels stay at their site; the sums that leave it can tell much about a site with "
            "few samples. " + _privacy(run.settings),
        },
        "Limits and recommendations": _limits(run),
    }


def card_text(run: RunFiles, card: Mapping[str, Mapping[str, str]]) -> str:
    """Return the card as Markdown, with the results by class as a table."""
    lines = [f"# Model card: {_plain(run.path.name)}", ""]
    for section, entries in card.items():
        lines += [f"## {section}", ""]
        lines += [f"- **{_plain(name)}**: {_plain(text)}" for name, text in entries.items()] + [""]
        if section == "Results" and (rows := worst_classes(run.summary)):
            heads = ["class", "samples", *(title(key) for key in _SHOWN)]
            lines += ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
            lines += [f"| {_plain(str(row['class']))} | {row['positives']} | {_of_class(row)} |" for row in rows] + [""]
    return "\n".join(lines)


def _details(run: RunFiles) -> dict[str, str]:
    origin = run.summary.get("run") or {}
    versions = origin.get("versions") if isinstance(origin, Mapping) else None
    made = ", ".join(f"{name} {version}" for name, version in versions.items()) if isinstance(versions, Mapping) else ""
    return {
        "Name": run.path.name,
        "Made by": f"{counted(int(run.summary.get('clients') or len(run.clients)), 'site')} together, none of which "
        "gave its data away",
        "Sites": few([row["name"] for row in run.clients], _MOST_NAMED) or MISSING,
        "Started": str(origin.get("started", MISSING)) if isinstance(origin, Mapping) else MISSING,
        "Method": f"{run.settings.get('method')}{_head(run.settings)}, {len(run.rounds)} of "
        f"{run.settings.get('rounds')} rounds, the best {'over own classes ' if chosen_by_own(run.settings) else ''}"
        f"after round {run.summary.get('best_round', MISSING)}, "
        f"seed {run.settings.get('seed')}",
        "Software": made or MISSING,
        "Status": str(run.summary.get("status", "cut off")),
    }


def _head(settings: Mapping[str, Any]) -> str:
    return " about a softmax head that the sites share" if settings.get("gp.prior-mean") == "head" else ""


def _measures(classes: bool) -> str:
    if not classes:
        return "Root mean squared error, mean absolute error, and the share of targets inside their 95 % interval."
    return (
        "Accuracy; for each class against all others sensitivity, specificity, PPV, NPV, F1, AUROC and AUPRC; "
        "calibration error of the stated probabilities, at the temperature at which predict answers. NLL, ECE, MCE and "
        "Brier score are at temperature 1 where nothing else is said; Temperature has the smallest validation ECE."
    )


def _training(run: RunFiles) -> dict[str, str]:
    samples = [int(row["n_train"]) for row in run.clients if row.get("n_train", "").isdecimal()]
    if not samples:
        return {"Data": run.data, "Training samples": MISSING}
    total = f"{sum(samples)} at {counted(len(samples), 'site')}, from {min(samples)} to {max(samples)} each"
    return {"Data": run.data, "Training samples": total}


def _results(run: RunFiles) -> dict[str, str]:
    found = {}
    if first := headline(run):
        found[first.name.capitalize() if first.name.islower() else first.name] = f"{first.value}; {first.details}"
    found |= {name: f"{value}; {more}" if more else value for name, value, more in key_results(run)}
    table = all_results(run)
    for name, value, interval, _ in ((cell.text for cell in row) for row in (table.rows if table else ())):
        found.setdefault(name, f"{value}; 95 % interval {interval}" if interval not in ("", MISSING) else value)
    return found or {"Results": "none: the run has not tested a model"}


def _limits(run: RunFiles) -> dict[str, str]:
    notes = [str(note) for note in run.summary.get("notes") or ()]
    limits = {
        "Other sites": "Intervals of shares say nothing about sites that took no part. Test at a new site before use.",
        "Changes": "A change of device, population or practice changes the results: test again from time to time.",
        "Same person": "Where several samples are of one person, the intervals are too narrow.",
    }
    return limits | ({"Notes of the run": "; ".join(notes)} if notes else {})


def _privacy(settings: Mapping[str, Any]) -> str:
    noise = settings.get("dp-noise") or 0
    return f"Updates were noised (dp-noise = {noise})." if noise else "Updates were sent without noise."


def _of_class(row: Mapping[str, Any]) -> str:
    shares = [(key, row_estimate(row, key)) for key in _SHOWN]
    return " | ".join(MISSING if share is None else ends(key, share) for key, share in shares)


def _plain(text: str) -> str:
    """On one line, and no Markdown or HTML of whoever chose a name."""
    line = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]|" else {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(c, c) for c in line)
