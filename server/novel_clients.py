"""Novel clients of a simulation: they never train, and the final test reports them apart from those that do."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.words import counted
from server.clients.roster import Client, Roster
from server.exchanged import Evaluation
from server.flower.reply_checks import Checked

__all__ = ["group_results", "novel_names", "untrained_names", "without_novel"]


def novel_names(settings: Settings, roster: Roster) -> frozenset[str]:
    """Names of the simulated clients that do not train: the last ``novel-clients`` of those in the run.

    Raises
    ------
    DataError
        There are some, and this machine lacks the data set whose partition names them.
    """
    if not settings.novel_clients or roster.own_data:
        return frozenset()
    return frozenset(simulated_partition(settings).client_names[settings.trainers : settings.participants])


def untrained_names(roster: Roster) -> frozenset[str]:
    """Names of clients of the run whose data have not trained the model: novel, unseen, or never drawn."""
    return frozenset(client.name for client in roster.all if not client.trained_in)


def without_novel(clients: list[Client], settings: Settings, roster: Roster) -> list[Client]:
    """Those of the clients that are not novel. Raises as `novel_names`."""
    novel = novel_names(settings, roster)
    return [client for client in clients if client.name not in novel] if novel else clients


def group_results(test: Evaluation, novel: Collection[str]) -> tuple[dict[str, Any], str]:
    """Results of both groups, and a sentence about them.

    Parameters
    ----------
    test : Evaluation
        On the test data of all clients.
    novel : collection of str
        Names of the novel clients.

    Returns
    -------
    results : dict
        ``training`` and ``novel``: ``clients`` that answered, metrics of their pooled samples, and with ``mean_`` means
        over them; ``gap``: novel minus training, of every metric that both have.
    sentence : str
    """
    inside, outside = (
        _results(test, {name for name in test.replies.accepted if (name in novel) == is_novel})
        for is_novel in (False, True)
    )
    gap = {
        key: outside[key] - inside[key]
        for key in inside
        if key not in ("clients", "n") and inside[key] is not None and outside[key] is not None
    }
    (score,) = [metric for metric in test.report.metrics("client") if metric.key == test.report.score]

    def shown(group: dict[str, Any]) -> str:
        pooled, mean = (group.get(key) for key in (score.key, f"mean_{score.key}"))
        if pooled is None or mean is None:
            return f"no {score.title}"
        return f"{score.title} {score.text(pooled)} pooled, {score.text(mean)} as a mean"

    sentence = (
        f"{counted(outside['clients'], 'novel client')}: {shown(outside)}; "
        f"{counted(inside['clients'], 'client')} that could train: {shown(inside)}"
    )
    return {"training": inside, "novel": outside, "gap": gap}, sentence


def _results(test: Evaluation, names: Collection[str]) -> dict[str, Any]:
    group = replace(test, replies=Checked({n: a for n, a in test.replies.accepted.items() if n in names}, {}))
    pooled = group.metrics
    return {
        "clients": len(group.replies.accepted),
        **{key: pooled[key] for key in test.report.pooled},
        **test.report.own(group.own_pooled),
        **{f"mean_{key}": value for key, value in group.means.items()},
    }
