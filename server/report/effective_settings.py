"""The main settings of a run in words, a row each, as its first lines show them."""

from pathlib import Path

from pfedgp_core.config import Settings
from pfedgp_core.metrics.task_report import task_report
from pfedgp_core.registry import METHODS, is_gaussian
from pfedgp_core.words import counted
from server.run.origin import Origin

__all__ = ["effective_settings"]


def effective_settings(settings: Settings, n_clients: int, path: Path, origin: Origin) -> dict[str, str]:
    """What is said of each subject.

    Parameters
    ----------
    settings : Settings
    n_clients : int
        That take part.
    path : Path
        The run's folder.
    origin : Origin
        Of the data.
    """
    s, gp, report = settings, settings.gp, task_report(settings.task)
    network = f"network {s.network}, {s.feature_dim} features"
    inference, how = report.inference(s)
    gaussian = {
        "model": f"{s.variant} GP{_prior_mean(s)}, {s.objective} objective, {network}",
        "kernel": f"{gp.kernel}, output scale {gp.output_scale:g}{_chosen_scale(s)}, length scale {gp.length_scale:g}",
        inference: how,
    }
    asked = f"{'all' if s.clients_per_round >= n_clients else s.clients_per_round} in each round"
    if s.wait_share < 1:
        asked += f", which closes once {100 * s.wait_share:g} % have answered"
    own = " (best by own classes)" if report.by_own(s.best_classes) else ""
    return {
        "data": f"{origin.data}, {s.task if origin.own else report.labels(s)}",
        "clients": f"{n_clients}, {asked}",
        "rounds": f"{s.rounds}, validation every {s.evaluate_every}{_sample(s)}{own}, {s.aggregation} average",
        "method": ", ".join([s.method, *_own_settings(s)]),
        **(gaussian if is_gaussian(s.method) else {"model": network}),
        "update": f"{_work(s)}, learning rate {s.learning_rate:g}, {_momentum(s)}",
        "seed": f"{s.seed}",
        "folder": f"{path}",
    }


def _sample(settings: Settings) -> str:
    return f" on {counted(settings.evaluate_clients, 'drawn client')}" if settings.evaluate_clients else ""


def _own_settings(settings: Settings) -> list[str]:
    """The method's own settings, as the run has them; of one that is not in the registry those that were given."""
    if settings.method not in METHODS:
        return [f"{key} {value}" for key, value in settings.own.given if key.partition(".")[0] not in METHODS]
    group = f"{settings.method}."
    return [
        f"{key.removeprefix(group)} {value}"
        for key, value in settings.own.to_run_config().items()
        if key.startswith(group)
    ]


def _prior_mean(settings: Settings) -> str:
    return " about a shared softmax head" if settings.gp.prior_mean == "head" else ""


def _chosen_scale(settings: Settings) -> str:
    """What ``gp.choose-scale`` does where the scale of predictions is the settings' (`methods.at_scales`)."""
    chosen = settings.gp.choose_scale and settings.gp.prior_mean == "zero" and not settings.gp.learn_scales
    return " (for predictions chosen after the last round)" if chosen else ""


def _momentum(settings: Settings) -> str:
    """A shared head is trained without, whatever the setting says (`head_update`)."""
    of_head = is_gaussian(settings.method) and settings.objective == "softmax"
    return "no momentum" if of_head else f"momentum {settings.momentum:g}"


def _work(settings: Settings) -> str:
    """How much a client computes in one update."""
    epochs = counted(settings.local_epochs, "local epoch")
    if is_gaussian(settings.method) and settings.objective != "softmax":
        return epochs
    batches = "1 mini-batch" if settings.local_steps == 1 else f"{settings.local_steps} mini-batches"
    return f"{batches} of {settings.batch_size} samples" if settings.local_steps else epochs
