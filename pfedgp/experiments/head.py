"""What stands above a table: where it is from, with which seeds, rounds, commit and machine, and what was scaled."""

import shlex
from collections.abc import Mapping, Sequence

from pfedgp.experiments.cells import Selection
from pfedgp.experiments.estimates import Entry
from pfedgp.experiments.search import Choice
from pfedgp.experiments.specification import Experiment, Flat
from pfedgp_core.words import counted, few
from server.report.wording import duration

__all__ = ["command", "head_lines"]


def command(experiment: Experiment, selection: Selection, search: bool) -> str:
    """The call that makes the table again."""
    words = ["pfedgp experiment", shlex.quote(experiment.call or experiment.name)]
    words += ["--rows", *selection.rows] if selection.rows != tuple(experiment.rows) else []
    words += ["--columns", *selection.columns] if selection.columns != tuple(experiment.columns) else []
    words += ["--seeds", *map(str, selection.seeds)] if selection.seeds != experiment.seeds else []
    words += ["--budget", f"{selection.budget:g}"] if selection.budget != 1 else []
    words += ["--search"] if search else []
    words += ["--data-root", "FILE"] if selection.data_root else []
    return " ".join(words)


def head_lines(
    experiment: Experiment, selection: Selection, found: Mapping[tuple[str, str], Entry], searched: Sequence[Choice]
) -> list[str]:
    """Sentences, a line each."""
    results = [result for entry in found.values() for result in entry.results]
    lines = [experiment.about] if experiment.about else []
    if selection.budget != 1:
        lines.append(
            f"Budget {selection.budget:g}: {', '.join(experiment.scaled)} are {selection.budget:g} of the "
            f"experiment's.{' The numbers of the paper are of its whole budget.' if _of_paper(found) else ''}"
        )
    seeds = ", ".join(map(str, selection.seeds))
    if len(selection.seeds) > 1:
        lines.append(f"Seeds {seeds}; ± is the standard error over them.")
    else:
        lines.append(f"Seed {seeds} alone, so ours has no standard error.{_binomial(experiment, results)}")
    if results:
        rounds = sorted({result["rounds"] for result in results})
        machines = sorted({_machine(result["machine"]) for result in results})
        wall, cpu = (_spent(found, key) for key in ("seconds", "cpu_seconds"))
        spent = f"{duration(round(wall))} of wall, without their start, and {duration(round(cpu))} of clients' CPU time"
        lines.append(f"Rounds {', '.join(map(str, rounds))}; the model with the best validation score is tested.")
        count = counted(len(results), "run")
        lines.append(f"{_commits(found)} {few(machines)}; one thread a run; {count} took {spent}.")
    if any(experiment.rows[row].grid for row in selection.rows):
        lines += _search(experiment, searched)
    return lines


def _commits(found: Mapping[tuple[str, str], Entry]) -> str:
    """The commit of all runs; where there are several, the rows of each, by their names in the file."""
    rows = dict[str, dict[str, None]]()
    for (row, _), entry in found.items():
        for result in entry.results:
            rows.setdefault(f"{result['commit']} ({result['pfedgp']})", {})[row] = None
    if len(rows) == 1:
        return f"Commit {next(iter(rows))};"
    return "Commits: " + "; ".join(f"{', '.join(names)} of {commit}" for commit, names in sorted(rows.items())) + "."


def _of_paper(found: Mapping[tuple[str, str], Entry]) -> bool:
    return any(entry.paper is not None for entry in found.values())


def _spent(found: Mapping[tuple[str, str], Entry], key: str) -> float:
    """A cost of all runs; of a row that tests another's model, what it has cost beyond that one."""
    total = 0.0
    for (_, column), entry in found.items():
        base = found.get((entry.row.of, column))
        of_base = {result["seed"]: result["costs"][key] for result in base.results} if base else {}
        total += sum(result["costs"][key] - of_base.get(result["seed"], 0.0) for result in entry.results)
    return total


def _binomial(experiment: Experiment, results: Sequence[Mapping[str, object]]) -> str:
    samples = [result["metrics"].get("test_samples") for result in results]  # type: ignore[attr-defined]
    known = [n for n in samples if n]
    if not experiment.percent or not known:
        return ""
    return (
        f" One binomial standard error at 80 % of {min(known)} test samples is {100 * (0.16 / min(known)) ** 0.5:.2f}."
    )


def _machine(machine: Mapping[str, object]) -> str:
    return f"{machine['processor']}, {machine['cores']} cores, torch {machine['torch']}"


def _search(experiment: Experiment, searched: Sequence[Choice]) -> list[str]:
    if not searched:
        return ["Hyper-parameters are those that the experiment states; without `--search` none were chosen by us."]
    search = experiment.search
    how = f"on validation data with seed {search.seed} and {search.budget:g} of the rounds"
    lines = [f"Hyper-parameters were chosen {how}; no row may try more than {search.candidates}:"]
    for choice in searched:
        tried = "; ".join(f"{_words(c)}: {'failed' if s is None else f'{s:.4f}'}" for c, s in choice.tried)
        best = "none" if choice.best is None else _words(choice.best)
        lines.append(f"- {choice.row}, {choice.column}: {tried}. Chosen: {best}.")
    return lines


def _words(candidate: Flat) -> str:
    return ", ".join(f"{key} = {value}" for key, value in candidate.items())
