"""The results of a run as plain values: the record of a round, the row of a client, the summary."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.learning.timing import CPU, EVALUATION_CPU
from pfedgp_core.metrics.task_report import Sums, TaskReport
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from pfedgp_core.wire.versions import software_versions
from server.choice_notes import choice_notes
from server.class_results import with_interval
from server.clients.roster import Client, Roster
from server.exchanged import Asked, Evaluation, Training
from server.result_intervals import share_of
from server.run.record_lines import WITH_UPDATE
from server.weights import bounded, weight_notes

__all__ = ["client_rows", "clipped_rounds", "round_record", "summary", "unfinished", "with_evaluation"]

Reply = TrainReply | EvaluateReply


def round_record(
    server_round: int, training: Training, report: TaskReport, seconds: dict[str, float]
) -> dict[str, Any]:
    """Return the line of ``metrics.jsonl`` of a round without an evaluation; `with_evaluation` adds one.

    Everything that depends on the clock is inside ``seconds``.

    Parameters
    ----------
    server_round : int
    training : Training
        Of this round.
        ``bytes_sent`` and ``bytes_received`` count the vectors only.
    report : TaskReport
    seconds : dict
        Measured by the server; the clients' own are added here.
    """
    replies = [a.reply for a in training.replies.accepted.values()]
    spent = _spent(replies)
    return {
        "round": server_round,
        "sampled": [asked.client.name for asked in training.asked],
        "ok": len(training.replies.accepted),
        "failed": dict(training.replies.failed),
        "late": list(training.late),
        "late_updates": training.late_updates,
        "train_loss": training.loss,
        "update_norm": training.update_norm,
        "usual_norm": training.usual_norm,
        "clipped": dict(training.clipped),
        **{f"validation_{key}": None for key in report.recorded},
        "evaluated": 0,
        "evaluated_of": 0,
        "standard_errors": {},
        "validation_failed": {},
        "best": False,
        "counters": _counters(replies),
        "gradients": sum(reply.gradients for reply in replies),
        "bytes_sent": _bytes(training.asked),
        "bytes_received": training.bytes_received,
        "bytes_evaluation": 0,
        "seconds": seconds | spent | {EVALUATION_CPU: 0.0},
    }


def with_evaluation(record: Mapping[str, Any], evaluation: Evaluation, best: bool) -> dict[str, Any]:
    """Return a round's record with the evaluation of its model, whose costs are added and also stand by themselves.

    Parameters
    ----------
    record : mapping
        As `round_record` returns it.
    evaluation : Evaluation
        On validation data. Where it rode in train requests it has cost no vector but those of its own requests.
    best : bool
        Whether this round's model is the best so far.
    """
    replies = [a.reply for a in evaluation.replies.accepted.values()]
    measured, spent = evaluation.metrics, _spent(replies)
    counters = Counter(record["counters"]) + Counter(_counters(replies))
    seconds = record["seconds"]
    return {
        **record,
        **{f"validation_{key}": measured[key] for key in evaluation.report.recorded},
        **_own_validation(evaluation),
        "evaluated": len(evaluation.replies.accepted),
        "evaluated_of": evaluation.able,
        "standard_errors": evaluation.standard_errors,
        "validation_failed": dict(evaluation.replies.failed),
        "best": best,
        "counters": dict(sorted(counters.items())),
        "bytes_sent": record["bytes_sent"] + _bytes(evaluation.asked),
        "bytes_evaluation": _bytes(evaluation.asked),
        "seconds": {
            **seconds,
            **{phase: seconds.get(phase, 0.0) + spent[phase] for phase in spent},
            EVALUATION_CPU: spent[CPU],
        },
    }


def _own_validation(evaluation: Evaluation) -> dict[str, float | int | None]:
    """The recorded metrics over each client's own classes, where these are not all that its classifier knows."""
    if all(a.reply.own is None for a in evaluation.replies.accepted.values()):
        return {}
    recorded = {f"own_{key}" for key in evaluation.report.recorded}
    measured = evaluation.report.own(evaluation.own_pooled)
    return {f"validation_{key}": value for key, value in measured.items() if key in recorded}


def client_rows(roster: Roster, test: Evaluation) -> list[dict[str, Any]]:
    """Return a row for each client of the run; None where there is no number, because there is no data or no answer."""
    return [_row(client, test) for client in roster.all]


def _row(client: Client, test: Evaluation) -> dict[str, Any]:
    accepted = test.replies.accepted.get(client.name)
    nothing = test.report.sums()
    hello = client.hello
    classes = {"classes": [hello.class_names[c] for c in hello.classes]} if hello.class_names else {}
    return {
        "name": client.name,
        **classes,
        "n_train": hello.n_train,
        "n_test": hello.n_test,
        "rounds_trained": len(client.trained_in),
        "last_trained_round": client.trained_in[-1] if client.trained_in else None,
        **_with_intervals(test.report, accepted.reply.sums if accepted else nothing),
        **test.report.own(accepted.reply.own_or_all if accepted else nothing),
    }


def _with_intervals(report: TaskReport, sums: Sums) -> dict[str, Any]:
    """A client's metrics; each share has the ends of its interval right behind it."""
    found: dict[str, Any] = {}
    for metric in report.metrics("client"):
        shared = metric.share
        found |= with_interval(metric.key, share_of(metric, sums)) if shared else {metric.key: metric.value(sums)}
    return found


def summary(
    settings: Settings,
    roster: Roster,
    test: Evaluation,
    history: Sequence[dict[str, Any]],
    best_round: int,
    validation_score: float | None,
    missing: dict[str, str],
    seconds: float,
) -> dict[str, Any]:
    """Return ``summary.json`` of a run that reached its end.

    Metrics are federated: over the test samples of all clients, each predicted by its own client, and each client
    counts with a bounded number (`pfedgp_core.bounded_counts`). Those that begin with ``own_`` come from predictions
    among the client's own classes alone, those with ``mean_`` are means over clients, each with weight 1.
    ``gp_share`` and ``network_share`` are shares of the clients' computing time. ``gradients`` counts those of all
    updates; ``cpu_seconds`` are the clients' for updates and evaluations, the final test with them.
    """
    test_replies = [a.reply for a in test.replies.accepted.values()]
    spent = Counter(_spent(test_replies))
    for record in history:
        spent.update({phase: record["seconds"].get(phase, 0.0) for phase in ("network", "gp", CPU)})
    total = spent["network"] + spent["gp"]
    numbers, claimed = test.metrics, test.claimed
    notes = []
    if validation_score is None:
        notes.append("no client has validation data: the best model is the final one")
    notes += choice_notes(settings, history, best_round, test.report)
    notes += weight_notes("validation", {client.name: client.hello.n_validation for client in roster.all})
    notes += weight_notes("test", claimed)
    clients_software = {line for client in roster.all for line in _as_lines(client.hello.versions)}
    return {
        "status": "completed",
        **{key: numbers[key] for key in test.report.pooled},
        **test.report.own(test.own_pooled),
        **{f"mean_{key}": value for key, value in test.means.items()},
        "test_samples": sum(claimed.values()),
        "bounded_clients": bounded(claimed),
        "rounds": len(history),
        "clients": len(roster.clients),
        "missing_clients": missing,
        "best_round": best_round,
        test.report.chosen_by(settings.best_classes): validation_score,
        "notes": notes,
        "failed_replies": sum(len(record["failed"]) for record in history),
        "failures": _failures(history),
        "clipped": clipped_rounds(history),
        "late": _late_rounds(history),
        "late_updates": sum(record.get("late_updates", 0) for record in history),
        "partition_hash": roster.reference.partition_hash or None,
        **_of_run(settings),
        **{key: sum(record.get(key, 0) for record in history) for key in ("gradients", "bytes_sent", "bytes_received")},
        "seconds": seconds,
        "cpu_seconds": spent[CPU],
        "gp_share": spent["gp"] / total if total else None,
        "network_share": spent["network"] / total if total else None,
        "other_client_versions": sorted(clients_software - _as_lines(software_versions())),
    }


def unfinished(settings: Settings, history: Sequence[dict[str, Any]], reason: str, seconds: float) -> dict[str, Any]:
    """Return ``summary.json`` of a run that ended without a result."""
    return {
        "status": "failed",
        "reason": reason,
        "rounds": len(history),
        "failures": _failures(history),
        "clipped": clipped_rounds(history),
        "late": _late_rounds(history),
        **_of_run(settings),
        "seconds": seconds,
    }


def _of_run(settings: Settings) -> dict[str, Any]:
    return {"seed": settings.seed, "method": settings.method, "variant": settings.variant}


def _failures(history: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How often each client failed, in training or in validation: name -> reason -> rounds."""
    counted: dict[str, Counter[str]] = {}
    for record in history:
        measured = [x for x in record["validation_failed"].items() if not x[1].startswith(WITH_UPDATE)]
        for name, reason in [*record["failed"].items(), *measured]:
            counted.setdefault(name, Counter())[reason] += 1
    return {name: dict(sorted(counted[name].items())) for name in sorted(counted)}


def clipped_rounds(history: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """In how many rounds each client's update was shortened, of the clients that had one."""
    return dict(sorted(Counter(name for record in history for name in record.get("clipped") or ()).items()))


def _late_rounds(history: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many rounds did not wait for each client, of the clients that were late."""
    return dict(sorted(Counter(name for record in history for name in record.get("late") or ()).items()))


def _as_lines(versions: dict[str, str]) -> set[str]:
    return {f"{name} {version}" for name, version in versions.items()}


def _spent(replies: Iterable[Reply]) -> dict[str, float]:
    spent = {"network": 0.0, "gp": 0.0, CPU: 0.0}
    for reply in replies:
        for phase in spent:
            spent[phase] += reply.seconds.get(phase, 0.0)
    return spent


def _bytes(requests: Iterable[Asked]) -> int:
    """Of the vectors in those requests that were sent; a round that is closed early may not have sent all."""
    return sum(asked.packed.nbytes for asked in requests if asked.message.metadata.message_id)


def _counters(replies: Iterable[Reply]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for reply in replies:
        total.update(reply.counters)
    return dict(sorted(total.items()))
