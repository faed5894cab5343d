"""A search for good settings by Optuna's tree-structured Parzen estimator (extra ``optuna``).

It asks for one candidate after the other, and each depends on the scores of those before alone. So a search that was
cut off is resumed by asking for the same candidates again: those whose runs are complete cost nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pfedgp.sweeping.choices import Candidate, Listed, Range, describe
from pfedgp_core.errors import ConfigError

if TYPE_CHECKING:
    from optuna import Trial

__all__ = ["require_optuna", "search"]


def require_optuna() -> None:
    """Raise ConfigError, naming the extra, where Optuna is not installed."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"Optuna cannot be loaded ({error}): install it with pip install 'pfedgp[optuna]', or list values with "
            "--over and leave out --trials."
        ) from error


def search(
    over: Sequence[Listed],
    ranges: Sequence[Range],
    trials: int,
    seed: int,
    score: Callable[[Candidate], float | None],
) -> None:
    """Try so many candidates one after the other.

    Parameters
    ----------
    over : sequence of Listed
    ranges : sequence of Range
    trials : int
    seed : int
        Of the search.
    score : callable
        Runs a candidate and returns what is to become large; None where that failed.
    """
    import optuna
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(trials):
        trial = study.ask()
        found = score(_suggested(trial, over, ranges))
        if found is None:
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, found)


def _suggested(trial: "Trial", over: Sequence[Listed], ranges: Sequence[Range]) -> Candidate:
    candidate = {each.key: str(trial.suggest_categorical(each.key, list(each.values))) for each in over}
    for each in ranges:
        if each.whole:
            candidate[each.key] = describe(trial.suggest_int(each.key, int(each.low), int(each.high), log=each.log))
        else:
            candidate[each.key] = describe(trial.suggest_float(each.key, each.low, each.high, log=each.log))
    return candidate
