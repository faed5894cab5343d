"""Whether a site takes up a request: run, method, network, hours, rounds, and what is left of its privacy budget."""

import math
from datetime import datetime

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.errors import PolicyError
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.runs import SHOWN, Runs, run_hash
from pfedgp_core.policy.site_policy import SitePolicy
from pfedgp_core.registry import is_gaussian
from pfedgp_core.schedule import evaluations
from pfedgp_core.words import counted, cut, rounded_up

__all__ = [
    "effective_settings",
    "most_evaluations",
    "most_updates",
    "require_budget",
    "require_evaluation",
    "require_hours",
    "require_norm",
    "require_run",
]

TESTS = 10  # evaluations beside those of rounds: tests at the end and of pfedgp evaluate


def require_hours(policy: SitePolicy, now: datetime) -> None:
    """Raise PolicyError outside the policy's hours; `now` is the site's own time."""
    if policy.hours and not any(hours.hold(now) for hours in policy.hours):
        raise PolicyError(f"It is {now:%a %H:%M}, outside the hours of this site's policy.")


def require_run(policy: SitePolicy, settings: Settings, runs: Runs, number: str) -> None:
    """Raise PolicyError for a run that the policy does not let in.

    Parameters
    ----------
    policy : SitePolicy
    settings : Settings
        As the server sent them.
    runs : Runs
        One that lacks the operator's approval alone is noted there.
    number : str
        Flower's number of the run.
    """
    for kind, name, allowed in (
        ("method", settings.method, policy.methods),
        ("network", settings.network, policy.networks),
    ):
        if allowed and name not in allowed:
            raise PolicyError(f"The policy has no {kind} {cut(repr(name), 60)}: its {kind}s are {', '.join(allowed)}.")
    _require_head(policy, settings)
    if settings.evaluate_every < policy.min_evaluate_every:
        raise PolicyError(
            f"The run evaluates every {counted(settings.evaluate_every, 'round')}, and min-evaluate-every is "
            f"{policy.min_evaluate_every}."
        )
    key = run_hash(settings)
    if policy.runs == "approved" and key not in runs.approved:
        runs.note_asked(settings, number)
        raise PolicyError(
            f"Run {key[:SHOWN]} is not approved: see what it would send with pfedgp approve {key[:SHOWN]}, and approve "
            "it there."
        )


def _require_head(policy: SitePolicy, settings: Settings) -> None:
    if settings.gp.prior_mean != "head" or policy.shared_head:
        return
    headless = policy.runs == "any" and policy.methods and all(map(is_gaussian, policy.methods))
    if policy.shared_head is False or headless:
        names = "has shared-head = false" if policy.shared_head is False else "names methods that send none"
        raise PolicyError(
            "The run's updates hold a softmax head, whose biases tell the numbers of the site's classes, and the "
            f"policy {names}: set shared-head = true in it, or ask for a run with --preset zero-mean."
        )


def effective_settings(policy: SitePolicy, settings: Settings) -> Settings:
    """The settings with the site's own noise, where that is more than the run's, and its own bound of an update.

    Raises
    ------
    ConfigError
        The run's settings do not go with noise.
    """
    if policy.dp_noise == 0:
        return settings
    clip = min(policy.dp_clip, settings.dp_clip) if settings.dp_noise else policy.dp_clip
    return settings.replace(dp_noise=max(policy.dp_noise, settings.dp_noise), dp_clip=clip)


def most_updates(policy: SitePolicy, settings: Settings) -> int:
    """Updates that a run gets from this site."""
    return 2 * settings.rounds if policy.max_updates is None else policy.max_updates


def most_evaluations(policy: SitePolicy, settings: Settings) -> int:
    """Evaluations that a run gets from this site, in requests of their own or with an update."""
    if policy.max_evaluations is not None:
        return policy.max_evaluations
    return 2 * evaluations(settings) + TESTS


def require_evaluation(policy: SitePolicy, settings: Settings, ledger: Ledger) -> None:
    """Raise PolicyError where another evaluation of a run would be one too many; parameters as `require_budget`."""
    key, most = run_hash(settings), most_evaluations(policy, settings)
    if (done := ledger.evaluations.get(key, 0)) >= most:
        raise PolicyError(f"Run {key[:SHOWN]} has {counted(done, 'evaluation')} of this site, and it gets {most}.")


def require_budget(policy: SitePolicy, settings: Settings, ledger: Ledger) -> None:
    """Raise PolicyError where another update of a run would be one too many.

    Parameters
    ----------
    policy : SitePolicy
    settings : Settings
        As the server sent them.
    ledger : Ledger
        Of what has left before.
    """
    key, most = run_hash(settings), most_updates(policy, settings)
    if (done := ledger.updates.get(key, 0)) >= most:
        raise PolicyError(f"Run {key[:SHOWN]} has {done} updates of this site, and it gets {most}.")
    if policy.max_epsilon is None:
        return
    spent = ledger.epsilon(policy.dp_delta, effective_settings(policy, settings).dp_noise, 1)
    if not spent <= policy.max_epsilon:
        raise PolicyError(
            f"With another update this site would have spent an epsilon of {spent:.3g}, and max-epsilon is "
            f"{policy.max_epsilon:g}."
        )


def require_norm(
    policy: SitePolicy, settings: Settings, sent: np.ndarray | None, leaving: np.ndarray, is_change: bool
) -> None:
    """Raise PolicyError for an update that is longer than the policy's bound, or not finite.

    Parameters
    ----------
    policy : SitePolicy
    settings : Settings
        Of the run.
    sent : float array [P], optional
        What the server sent.
    leaving : float array
        What would leave; where its length is not that of `sent`, its own norm counts.
    is_change : bool
        Whether `leaving` is the change itself and not the vector after it.
    """
    if policy.max_update_norm is None:
        return
    change = leaving.astype(np.float64)
    if not is_change and sent is not None and sent.shape == leaving.shape:
        change -= sent
    norm = float(np.linalg.norm(change))
    if norm <= policy.max_update_norm:
        return
    found = f"The update has a norm of {norm:.4g}, and max-update-norm is {policy.max_update_norm:g}"
    if not math.isfinite(norm):
        raise PolicyError(f"{found}: nothing leaves; ask for a run with a smaller learning-rate.")
    head = is_gaussian(settings.method) and settings.gp.prior_mean == "head"
    shorter = (
        "with --preset zero-mean: a shared head makes updates about ten times as long"
        if head
        else "with a smaller learning-rate"
    )
    raise PolicyError(
        f"{found}: set it to {rounded_up(norm)} or more to let such updates out, or ask for a run {shorter}."
    )
