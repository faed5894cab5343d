"""The Flower ServerApp: settings in, a federation, artefacts out."""

import logging
import sys
import time
import traceback
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError
from pfedgp_core.exchange import software_versions
from server.artefacts import RunFolder
from server.federation import Federation
from server.object_retry import shorten_object_retry
from server.outputs import Outputs
from server.publish import Publication, take_publish, waiting_settings

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the run config describes, or publish the model that it names."""
    _log_to_console()
    shorten_object_retry()
    run_config = dict(context.run_config)
    run_config.pop("resume", None)
    outputs, published = Outputs.take(run_config), take_publish(run_config)
    outputs.check()
    origin = {"run_id": str(context.run_id), "versions": software_versions()}
    if published:
        path, model = _folder(outputs, "published"), Path(published).expanduser().absolute()
        Publication(grid, waiting_settings(run_config), model, path, origin).run()
        return
    settings = Settings.from_run_config(run_config)
    folder = RunFolder.create(_folder(outputs, f"{settings.dataset}-{settings.variant}"), settings, origin)
    try:
        Federation(grid, settings, folder, outputs.reporters()).run()
    except PFedGPError:
        raise
    except Exception:
        (folder.path / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        raise


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
