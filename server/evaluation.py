"""Measuring a trained model on the connected sites, without any training: each site's gain over an untrained network.

The run-config key ``evaluate`` names the model, ``min-cell`` the samples below which a site's results are not shown.
The folder of the run gets ``evaluation.json`` and a page, ``evaluation.html``. Nothing stays at a site.
"""

import logging
import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.methods.make import make_method, require_onboards
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.words import counted, few
from server.clients.roster import Roster
from server.engine import Engine
from server.evaluation_results import LEAST_CELL, evaluation_results
from server.exchanges import Exchanges
from server.flower.messages import Poll
from server.outputs import take_path
from server.report.html.evaluation_page import evaluation_page
from server.run.files import EVALUATION_FILE, explained, write_whole
from server.run.json_text import to_json
from server.run.model_file import load_model
from server.run.new_folder import check_new_folder
from server.run.releases import Releases
from server.strategy import MethodStrategy

__all__ = ["EVALUATE", "EVALUATION_FILE", "MIN_CELL", "ModelToMeasure", "evaluate_model", "take_evaluation"]

logger = logging.getLogger("pfedgp.server")

EVALUATE, MIN_CELL = "evaluate", "min-cell"
PAGE_FILE = "evaluation.html"


class ModelToMeasure(NamedTuple):
    """A model, and how its results are shown.

    Attributes
    ----------
    path : Path
        The folder ``best`` or ``final`` of a run.
    least : int
        Test samples below which nothing is said of a site.
    """

    path: Path
    least: int


def take_evaluation(flat: MutableMapping[str, Any]) -> ModelToMeasure | None:
    """Remove the keys of an evaluation from a run config; None where the run is none.

    Raises
    ------
    ConfigError
        One of them is not what it should be.
    """
    path, least = take_path(flat, EVALUATE, "RUN/best"), flat.pop(MIN_CELL, LEAST_CELL)
    if type(least) is not int or least < 1:
        raise ConfigError(f"{MIN_CELL} = {str(least)[:40]!r} is no number of samples: give a whole number from 1.")
    return ModelToMeasure(Path(path).expanduser().absolute(), least) if path else None


def evaluate_model(
    grid: Grid, waiting: Settings, chosen: ModelToMeasure, path: Path, run_info: Mapping[str, Any], engine: Engine
) -> dict[str, Any]:
    """Measure the model and the network before round 1 on every connected site's test data.

    Parameters
    ----------
    grid : Grid
    waiting : Settings
        For how many sites (``min-results``), and how long, to wait; the sites obey the model's own settings.
    chosen : ModelToMeasure
    path : Path
        Folder for the results.
    run_info : mapping
        Origin of the run, kept with the results.
    engine : Engine

    Returns
    -------
    dict
        As in ``evaluation.json``.

    Raises
    ------
    ArtefactError, ConfigError
        There is no such model, it cannot be used, or the folder is taken.
    RunFailedError
        No site could measure it.
    """
    vector, meta = load_model(chosen.path)
    model = TrainedModel.from_artefact(vector, meta)
    require_onboards(model.settings, trusted=True)
    check_new_folder(path)
    with explained(path):
        path.mkdir(parents=True, exist_ok=True)
    many = waiting.clients
    of_run = {
        "clients": many,
        "clients_per_round": many,
        "unseen_clients": 0,
        "novel_clients": 0,
        "evaluate_clients": 0,
    }
    of_run |= {key: getattr(waiting, key) for key in ("wait_timeout", "round_timeout")} | {
        "min_results": 1,
        "dp_noise": 0.0,
    }
    settings = model.settings.replace(**of_run)
    roster = Roster(settings, engine.window)
    roster.adopt(_spec(model), [])
    _meet(roster, grid, waiting)
    method = make_method(settings, model.input_shape, len(model.class_names))
    strategy = MethodStrategy(settings, roster, method, path)
    run_key = str(run_info.get("run_id", ""))
    exchanges = Exchanges(grid, settings, roster, strategy, run_key, Releases(path, settings), engine.window)
    # Both at the model's own round: the same streams of random numbers, which are those of its run's final test.
    t = int(meta.get("round") or 0)
    logger.info("measuring the network before round 1 on %s", counted(len(roster.online()), "site"))
    local = exchanges.evaluate(t, method.alone(), "test")
    logger.info("measuring the model %s of round %d", model.sha256[:12], t)
    federated = exchanges.evaluate(t, model.vector, "test")
    results = evaluation_results(
        local, federated, chosen.least, {client.name: client.hello.n_train for client in roster.all}
    )
    if not results["sites"]:
        reasons = few([f"{name}: {reason}" for name, reason in results["failed"].items()])
        raise RunFailedError(
            f"No site could measure the model ({reasons or 'none has test data'}): see the sites' logs."
        )
    return _written(path, chosen, model, t, results | {"refused": sorted(set(roster.refusals.values()))}, run_info)


def _spec(model: TrainedModel) -> DataSpec:
    moments = tuple(model.mean.tolist()), tuple(model.std.tolist())
    return DataSpec(model.class_names, model.input_shape, *moments, model.columns, model.value_range)


def _meet(roster: Roster, grid: Grid, waiting: Settings) -> None:
    """Greet the nodes until as many as are wanted have answered, and all that are connected; or until the time is over.

    Raises
    ------
    RunFailedError
        No site can take part.
    """
    poll, began = Poll(), time.monotonic()
    while True:
        known = len(roster.clients)
        roster.refresh(grid)
        if len(roster.clients) > known:
            poll.news()
        answered = len(roster.online()) + len(roster.refusals)
        if answered >= max(len(roster.connected), waiting.min_results):
            break
        if time.monotonic() - began > waiting.wait_timeout:
            break
        poll.sleep(waiting.wait_timeout)
    if not roster.online():
        reasons = few(sorted(set(roster.refusals.values())), 5) or "none is connected"
        raise RunFailedError(f"No site can measure the model ({reasons}): start the sites, or see their logs.")


def _written(
    path: Path,
    chosen: ModelToMeasure,
    model: TrainedModel,
    t: int,
    results: dict[str, Any],
    run_info: Mapping[str, Any],
) -> dict[str, Any]:
    settings = model.settings
    about = {"path": str(chosen.path), "sha256": model.sha256, "round": t, "method": settings.method}
    about |= {"network": settings.network, "variant": settings.variant}
    whole = {"format": "pfedgp-evaluation", "schema_version": 1, "model": about, **results, "run": dict(run_info)}
    write_whole(path / EVALUATION_FILE, to_json(whole, EVALUATION_FILE, indent=2) + "\n")
    write_whole(path / PAGE_FILE, evaluation_page(whole))
    shown = results["mean"]
    if shown["gain"]:
        gain = shown["gain"]
        logger.info(
            "mean accuracy of %s: %.1f %% before round 1, %.1f %% with the model, gain %+.1f [%+.1f, %+.1f] points",
            *(counted(shown["sites"], "site"), 100 * shown["local"]["value"], 100 * shown["federated"]["value"]),
            *(100 * gain[key] for key in ("value", "low", "high")),
        )
    logger.info("results in %s", path)
    return whole
