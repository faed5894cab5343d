"""What an evaluation of a model says: of each site with enough samples, and on average over these."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.metrics.gains import difference_estimate, mean_difference
from pfedgp_core.metrics.intervals import Estimate, mean_estimate, share_estimate
from pfedgp_core.metrics.summary import Sums
from server.exchanged import Evaluation

__all__ = ["LEAST_CELL", "evaluation_results", "site_gains"]

LEAST_CELL = 10
"""Test samples below which nothing is said of a site, unless the operator asks for another number."""


def evaluation_results(
    local: Evaluation, federated: Evaluation, least: int, trained: Mapping[str, int]
) -> dict[str, Any]:
    """The results as plain values of JSON; ``docs/evaluate.md`` lists the fields.

    Of a site with fewer than `least` test samples no number is here, neither by itself nor in a mean, from which it
    could be subtracted.

    Parameters
    ----------
    local, federated : Evaluation
        Of the untrained network and of the model, on the same test data.
    least : int
    trained : mapping of str to int
        Training samples of the sites.
    """
    rows: list[dict[str, Any]] = []
    shown: list[tuple[Estimate, Estimate, Estimate]] = []
    both = sorted(federated.replies.accepted.keys() & local.replies.accepted.keys())
    for name in both:
        before, after = (each.replies.accepted[name].reply.sums for each in (local, federated))
        if before.n < max(least, 1) or after.n != before.n:
            rows.append({"name": name, "suppressed": True})
            continue
        shares = _accuracy(local, before), _accuracy(federated, after)
        gain = difference_estimate(shares[1], shares[0])
        shown.append((*shares, gain))
        rows.append(
            {
                "name": name,
                "suppressed": False,
                "n_train": trained.get(name, 0),
                "n_test": after.n,
                "local": _site(local, before, shares[0]),
                "federated": _site(federated, after, shares[1]),
                "gain": gain._asdict(),
            }
        )
    failed = local.replies.failed | federated.replies.failed
    return {
        "min_cell": least,
        "sites": rows,
        "failed": {name: failed[name] for name in sorted(failed) if name not in both},
        "mean": {
            "sites": len(shown),
            "local": _plain(mean_estimate([each[0] for each in shown])),
            "federated": _plain(mean_estimate([each[1] for each in shown])),
            "gain": _plain(mean_difference([each[2] for each in shown])),
        },
    }


def site_gains(local: Evaluation, federated: Evaluation) -> tuple[dict[str, Estimate], Estimate | None]:
    """The difference of accuracies of each site that answered to both and has samples, and the mean of these."""
    gains = {}
    for name in sorted(federated.replies.accepted.keys() & local.replies.accepted.keys()):
        before, after = (each.replies.accepted[name].reply.sums for each in (local, federated))
        if before.n and after.n:
            gains[name] = difference_estimate(_accuracy(federated, after), _accuracy(local, before))
    return gains, mean_difference(list(gains.values()))


def _accuracy(evaluation: Evaluation, sums: Sums) -> Estimate:
    value = float(evaluation.report.summarise(sums)["accuracy"] or 0.0)
    found = share_estimate(value * sums.n, sums.n)
    assert found is not None  # there are samples
    return found


def _site(evaluation: Evaluation, sums: Sums, accuracy: Estimate) -> dict[str, Any]:
    measured = evaluation.report.summarise(sums)
    return {"accuracy": accuracy._asdict(), "nll": measured["nll"], "ece": measured["ece"]}


def _plain(found: Estimate | None) -> dict[str, float] | None:
    return None if found is None else found._asdict()
