"""The Flower ServerApp: settings in, a federation, artefacts out."""

import logging
import sys
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, PFedGPError
from pfedgp_core.freed_memory import keep_freed_memory
from pfedgp_core.methods.make import find_method
from pfedgp_core.wire.versions import software_versions
from server.engine import DEPLOYMENT, Engine
from server.evaluation import evaluate_model, take_evaluation
from server.federation import run_federation
from server.flower.audited_grid import AuditedGrid
from server.flower.noted_grid import NotedGrid
from server.flower.patches import guarded
from server.outputs import Outputs, take_path
from server.publish import Publication, take_publish, waiting_settings
from server.run.artefacts import RunFolder
from server.run.checkpoint import Checkpoint, sweep_partial
from server.run.claim import RunLock
from server.run.new_folder import check_new_folder
from server.run.origin import PUBLISHED
from server.run.resume import RESUME, Resumable, refuse_changes

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Serve a deployment."""
    keep_freed_memory()  # each round takes and frees the same pieces of the model
    serve(grid, context, DEPLOYMENT)


def serve(grid: Grid, context: Context, engine: Engine) -> None:
    """Run the federation that the run config describes, go on with one, or publish or measure the model that it names.

    Parameters
    ----------
    grid : Grid
    context : Context
        Its run config holds the settings, or ``resume``, ``publish`` or ``evaluate``, and where the results go.
    engine : Engine
        What `grid` belongs to.

    Raises
    ------
    PFedGPError
        The run cannot start, or ended without a result; its text is a sentence for the operator.
    """
    _log_to_console()
    run_config = dict(context.run_config)
    resume, published = take_path(run_config, RESUME, "RUN"), take_publish(run_config)
    measured = take_evaluation(run_config)
    outputs = Outputs.take(run_config)
    origin = {
        "run_id": str(context.run_id),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": software_versions(),
        "engine": engine.name,
        "patches_missing": list(engine.patches_missing),
    }
    if engine.backend:
        origin["backend"] = engine.backend
    grid = guarded(grid)
    if published:
        outputs.check()
        path, model = _folder(outputs, "published"), Path(published).expanduser().absolute()
        Publication.of(
            _audited(grid, path, engine), waiting_settings(run_config), model, path, origin | PUBLISHED
        ).run()
    elif measured:
        outputs.check()
        waiting, path = Settings.from_run_config(run_config), _folder(outputs, "evaluation")
        evaluate_model(_audited(grid, path, engine), waiting, measured, path, origin, engine)
    elif resume:
        _go_on(grid, Path(resume).expanduser().absolute(), run_config, outputs, origin, engine)
    else:
        outputs.check()
        settings = Settings.from_run_config(run_config)
        find_method(settings)  # a mistake in its name is found before there is a folder
        path = _folder(outputs, settings.run_name)
        check_new_folder(path)
        with RunLock(path):
            sweep_partial(path)
            folder = RunFolder.create(path, settings, origin | outputs.to_origin())
            _run(grid, settings, folder, outputs, engine)


def _go_on(
    grid: Grid, path: Path, run_config: dict[str, Any], outputs: Outputs, origin: dict[str, Any], engine: Engine
) -> None:
    """Go on with the run in `path`; `run_config` holds no setting but perhaps the number of rounds."""
    if outputs.out and _folder(outputs, "") != path:
        raise ConfigError(f"out = {outputs.out!r} does not go with resume, which writes to {path}: leave it out.")
    rounds = run_config.get("rounds")
    if rounds is not None and type(rounds) is not int:
        raise ConfigError(f"rounds = {rounds!r} is not an integer: leave it out, or give the rounds to reach.")
    # Before the lock, which would make the folder of a run that is not there.
    Resumable.open(path, rounds)
    with RunLock(path):
        former = Resumable.open(path, rounds)
        refuse_changes(run_config, former.settings, path)
        outputs = outputs.or_else(former.outputs)
        outputs.check()
        sweep_partial(path)
        known = ("run_id", "started", "versions", "engine", "backend", "patches_missing")
        again = {key: origin[key] for key in known if key in origin}
        resumed = [*former.origin.get("resumed", []), {"after_round": former.round, **again}]
        # A run that was begun without a client (`server.without`) has no identity yet.
        first = {key: origin[key] for key in ("run_id", "started")} | former.origin
        folder = RunFolder.reopen(path, former.settings, first | outputs.to_origin() | {"resumed": resumed})
        _run(grid, former.settings, folder, outputs, engine, former.checkpoint)


def _run(
    grid: Grid,
    settings: Settings,
    folder: RunFolder,
    outputs: Outputs,
    engine: Engine,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Run it; an error that nobody foresaw leaves its traceback in the folder, where there is room for it."""
    try:
        audited = _audited(grid, folder.path, engine, settings)
        run_federation(audited, settings, folder, outputs.reporters(), engine, checkpoint)
    except PFedGPError:
        raise
    except Exception:
        with suppress(OSError):
            (folder.path / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        raise


def _audited(grid: Grid, path: Path, engine: Engine, settings: Settings | None = None) -> Grid:
    """A deployment's grid with an audit log and refusals in the run's folder; a simulation has one site, its caller."""
    return NotedGrid(AuditedGrid(grid, path, settings), path) if engine.name == DEPLOYMENT.name else grid


def _folder(outputs: Outputs, name: str) -> Path:
    """The run's own folder: as asked for, or one named after what runs and when."""
    return Path(outputs.out or f"out/{name}-{time.strftime('%Y%m%d-%H%M%S')}").expanduser().absolute()


def _log_to_console() -> None:
    """Show the server's log lines, unless the program around it has decided where logs go."""
    logger = logging.getLogger("pfedgp")
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
