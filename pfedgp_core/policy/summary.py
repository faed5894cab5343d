"""What a run would send from a site, before the site's operator approves it."""

from typing import Any

from pfedgp_core.column_rules import FEDERATED
from pfedgp_core.config import Settings
from pfedgp_core.data.tables.summary import FEWEST
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.requests import effective_settings, most_evaluations, most_updates
from pfedgp_core.policy.runs import run_hash
from pfedgp_core.policy.site_policy import METRICS, SitePolicy

__all__ = ["GROUPS", "described", "summary"]

GREETING = (
    "once: the site's name, numbers of its samples, names of its classes, mean and deviation of its inputs, names of a "
    "table's columns as the client's options say, versions of software"
)
GROUPS = {  # in words
    "results": "sums of right answers, losses and confidence over validation and test samples",
    "calibration": "bins of confidence at several temperatures, and how often each class was taken for which",
    "evidence": "sums of log probabilities for the model's temperature and output scale",
    "training": "the loss, numbers of steps, and counters of numerical events",
    "seconds": "how long its parts took",
    "columns": (
        "of each column of a table its kind, how many rows have a value and a gap, mean and deviation of numbers, and "
        "texts with how many rows have them, never of fewer than {} rows"
    ),
}
COLUMNS = "columns"  # the group that leaves once, where sites agree on rules
NETWORK = "the shared network"
# A head's biases tell a site's classes in proportion to their numbers (docs/privacy.md).
WITH_HEAD = "the shared network and the shared softmax head, whose biases move with the numbers of the site's classes,"
STAYS = "samples, labels, file names, features, predictions and the site's own classifier"


def summary(policy: SitePolicy, settings: Settings, ledger: Ledger) -> dict[str, Any]:
    """Return what a run asks for and what would leave, as JSON.

    Parameters
    ----------
    policy : SitePolicy
    settings : Settings
        Of the run.
    ledger : Ledger
        Of what has left the site before.

    Raises
    ------
    ConfigError
        The run's settings do not go with the site's own noise.
    PolicyError
        The epsilon cannot be computed here.
    """
    key, most = run_hash(settings), most_updates(policy, settings)
    done = ledger.updates.get(key, 0)
    noised = effective_settings(policy, settings)
    left = max(0, most - done)
    default = Settings().to_run_config()
    agrees = settings.column_rules_from == FEDERATED and COLUMNS in policy.metrics
    return {
        "run": key,
        "method": settings.method,
        "network": settings.network,
        "task": settings.task,
        "rounds": settings.rounds,
        "clients_per_round": settings.clients_per_round,
        "changed": {key: value for key, value in settings.to_run_config().items() if value != default.get(key)},
        "updates_sent": done,
        "updates_at_most": most,
        "evaluations_sent": ledger.evaluations.get(key, 0),
        "evaluations_at_most": most_evaluations(policy, settings),
        "update": WITH_HEAD if settings.gp.prior_mean == "head" else NETWORK,
        "noise": noised.dp_noise,
        "clip": noised.dp_clip if noised.dp_noise else None,
        "max_update_norm": policy.max_update_norm,
        "epsilon_after": _finite(ledger.epsilon(policy.dp_delta, noised.dp_noise, left)) if noised.dp_noise else None,
        "delta": policy.dp_delta,
        "greeting": GREETING,
        "metrics": {name: GROUPS[name] for name in METRICS if name in policy.metrics and name != COLUMNS},
        "columns": GROUPS[COLUMNS].format(max(FEWEST, policy.min_cell)) if agrees else None,
        "min_cell": policy.min_cell,
        "stays": STAYS,
    }


def described(about: dict[str, Any]) -> str:
    """The summary as lines for a person."""
    noise = "without noise" if not about["noise"] else f"with noise {about['noise']:g} at norm {about['clip']:g}"
    bound = "" if about["max_update_norm"] is None else f", of norm {about['max_update_norm']:g} at most"
    epsilon = about["epsilon_after"]
    spent = "none is promised" if epsilon is None else f"{epsilon:.3g} at delta {about['delta']:g}, with all before it"
    changed = ", ".join(f"{key} = {value!r}" for key, value in about["changed"].items()) or "none"
    lines = [
        f"Run {about['run']}",
        (
            f"  method {about['method']}, network {about['network']}, {about['task']}, {about['rounds']} rounds, "
            f"{about['clients_per_round']} clients a round"
        ),
        f"  settings that are not the defaults: {changed}",
        "What would leave this site:",
        f"  {about['greeting']}",
        (
            f"  at most {about['updates_at_most']} times ({about['updates_sent']} up to now): {about['update']} after "
            f"training on the site's samples, {noise}{bound}"
        ),
        *([f"  once, for rules of columns: {about['columns']}"] if about["columns"] else []),
        f"  at most {about['evaluations_at_most']} evaluations ({about['evaluations_sent']} up to now)",
        *(f"  with each evaluation or update: {words}" for words in about["metrics"].values()),
        f"  no count of fewer than {about['min_cell']} samples" if about["min_cell"] > 1 else "  counts of any size",
        f"Privacy of the updates: epsilon {spent}.",
        f"What stays: {about['stays']}.",
    ]
    return "\n".join(lines)


def _finite(value: float) -> float | None:
    """JSON has no infinity; updates that left without noise have no epsilon."""
    return value if value < float("inf") else None
