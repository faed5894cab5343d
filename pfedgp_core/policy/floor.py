"""Numbers that leave a site: groups that its policy keeps back, and the floor below which no count of samples leaves.

A count below the floor is suppressed with what belongs to it. Bins of confidence are joined with their neighbours,
which keeps the sums; a table of classes leaves whole or not at all, because the sums beside it would tell the cell that
is missing; an evaluation of fewer samples does not leave. What a table's columns hold goes by `TableSummary`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pfedgp_core.data.tables.summary import FEWEST
from pfedgp_core.errors import PolicyError
from pfedgp_core.metrics.classification import BINS
from pfedgp_core.policy.site_policy import SitePolicy
from pfedgp_core.wire.hello import Hello

__all__ = ["evaluation_that_leaves", "greeting_that_leaves", "joined_bins", "training_that_leaves"]

Numbers = dict[str, Any]
_RESULTS, _CALIBRATION, _EVIDENCE, _SCALES = ("sums.", "own."), "calibration.", "evidence.", "scales."
_SCORES = _CALIBRATION + "scores."
_COUNTED = "bin_count", "bin_confidence", "bin_correct"
_LOGS = ("counter.", "seconds.")
_TRAINING = ("loss", "steps", "gradients")
_NEEDED = ("n_train", "steps", "gradients")  # without these the server takes no reply


def greeting_that_leaves(policy: SitePolicy, hello: Hello, asked: bool) -> Hello:
    """A greeting with what of a table's columns may leave.

    Parameters
    ----------
    policy : SitePolicy
    hello : Hello
    asked : bool
        Whether the run has sites agree on rules for columns.

    Raises
    ------
    PolicyError
        The policy keeps that back, or nobody asked for it.
    DataError
        What the greeting tells of them is none.
    """
    if not hello.summary:
        return hello
    if not asked:
        raise PolicyError("The greeting tells what columns hold, which the run does not ask for: nothing leaves.")
    if "columns" not in policy.metrics:
        raise PolicyError(
            "The run has sites agree on rules by what they tell of their columns (column-rules-from = federated), and "
            "the policy keeps that at the site: nothing leaves."
        )
    told = hello.table.floored(policy.min_cell) if policy.min_cell > FEWEST else hello.table
    return replace(hello, mean=told.means, std=told.stds, summary=told.to_json())


def training_that_leaves(policy: SitePolicy, metrics: Mapping[str, Any]) -> Numbers:
    """What of the numbers beside an update may leave.

    Raises
    ------
    PolicyError
        A name that no update reports.
    """
    others = [key for key in metrics if key not in (*_NEEDED, *_TRAINING) and not key.startswith(_LOGS)]
    if others:
        raise PolicyError(f"The reply holds {others[0][:60]!r}, which no update reports: nothing leaves.")
    kept = _logs(policy, metrics) | {"n_train": metrics.get("n_train", 0), "steps": 0, "gradients": 0}
    if "training" in policy.metrics:
        kept |= {key: metrics[key] for key in _TRAINING if key in metrics}
    return kept


def evaluation_that_leaves(policy: SitePolicy, metrics: Mapping[str, Any]) -> Numbers:
    """What of the numbers of an evaluation may leave.

    Parameters
    ----------
    policy : SitePolicy
    metrics : mapping of str to numbers
        As ``EvaluateReply.to_wire`` gives them.

    Raises
    ------
    PolicyError
        The policy keeps results back, they are of fewer samples than ``min-cell``, or there is a name that no
        evaluation reports.
    """
    if "results" not in policy.metrics:
        raise PolicyError("The policy keeps results of evaluations at the site: nothing leaves.")
    groups = (*_RESULTS, _CALIBRATION, _EVIDENCE, _SCALES, *_LOGS)
    if others := [key for key in metrics if not key.startswith(groups)]:
        raise PolicyError(f"The reply holds {others[0][:60]!r}, which no evaluation reports: nothing leaves.")
    floor = policy.min_cell
    kept = _logs(policy, metrics)
    for prefix in _RESULTS:
        part = {key: value for key, value in metrics.items() if key.startswith(prefix)}
        if 0 < part.get(prefix + "n", 0) < floor:
            raise PolicyError(f"The evaluation is of {part[prefix + 'n']} samples, and min-cell is {floor}.")
        kept |= _floored(part, prefix, floor)
    if "calibration" in policy.metrics:
        kept |= _calibration(metrics, floor)
    if "evidence" in policy.metrics:
        kept |= _evidence(metrics, floor) | _scales(metrics, floor)
    return kept


def joined_bins(counts: list[int], floor: int) -> list[list[int]]:
    """Bins, by their places, that have to become one so that none which holds a sample holds fewer than `floor`.

    Empty bins belong to no group. Where all together hold fewer, there is one group.
    """
    groups: list[list[int]] = []
    held = 0
    for place, count in enumerate(counts):
        if not count:
            continue
        if groups and held < floor:
            groups[-1].append(place)
            held += count
        else:
            groups.append([place])
            held = count
    if len(groups) > 1 and held < floor:
        last = groups.pop()
        groups[-1] += last
    return groups


def _floored(part: Mapping[str, Any], prefix: str, floor: int) -> Numbers:
    """The fields of sums, or of lists of them at several temperatures, with small bins joined."""
    kept = dict(part)
    if floor < 2 or f"{prefix}bin_count" not in part:  # regression has none
        return kept
    columns = {name: list(part[prefix + name]) for name in _COUNTED}
    for first in range(0, len(columns["bin_count"]), BINS):
        counts = columns["bin_count"][first : first + BINS]
        for group in joined_bins(counts, floor):
            into = max(group, key=lambda place: counts[place])
            for values in columns.values():
                total = sum(values[first + place] for place in group)
                for place in group:
                    values[first + place] = type(total)(0)
                values[first + into] = total
    return kept | {prefix + name: values for name, values in columns.items()}


def _calibration(metrics: Mapping[str, Any], floor: int) -> Numbers:
    """Bins at all temperatures and the table of classes, if that has no small cell; scores if these have none."""
    part = {key: value for key, value in metrics.items() if key.startswith(_CALIBRATION)}
    samples = [n for split in ("validation", "test") for n in part.get(f"{_CALIBRATION}{split}.n", ())]
    cells = part.get(_CALIBRATION + "confusion.count", ())
    if _small([*samples, *cells], floor):
        return {}
    counts = [n for name in ("positives", "negatives") for n in part.get(_SCORES + name, ())]
    if _small(counts, floor):
        part = {key: value for key, value in part.items() if not key.startswith(_SCORES)}
    for split in ("validation", "test"):
        part |= _floored(_below(part, f"{_CALIBRATION}{split}."), f"{_CALIBRATION}{split}.", floor)
    return part


def _evidence(metrics: Mapping[str, Any], floor: int) -> Numbers:
    """Sums for the model's temperature, if each is of enough samples."""
    part = _below(metrics, _EVIDENCE)
    samples = [part.get(f"{_EVIDENCE}{name}.n", 0) for name in ("validation", "left_out")]
    if _small([*samples, *part.get(f"{_EVIDENCE}test.n", ())], floor):
        return {}
    return part | _floored(_below(part, f"{_EVIDENCE}test."), f"{_EVIDENCE}test.", floor)


def _scales(metrics: Mapping[str, Any], floor: int) -> Numbers:
    """Sums for the output scale, if each is of enough samples."""
    part = _below(metrics, _SCALES)
    small = _small([part.get(f"{_SCALES}{name}.n", 0) for name in ("validation", "left_out")], floor)
    return {} if small else part


def _logs(policy: SitePolicy, metrics: Mapping[str, Any]) -> Numbers:
    """Counters go with ``training``, seconds are a group of their own."""
    allowed: Callable[[str], bool] = lambda key: (  # noqa: E731 (one line says it)
        (key.startswith("counter.") and "training" in policy.metrics)
        or (key.startswith("seconds.") and "seconds" in policy.metrics)
    )
    return {key: value for key, value in metrics.items() if allowed(key)}


def _below(metrics: Mapping[str, Any], prefix: str) -> Numbers:
    return {key: value for key, value in metrics.items() if key.startswith(prefix)}


def _small(counts: list[Any], floor: int) -> bool:
    return any(0 < n < floor for n in counts)
