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
from server.outputs import Outputs

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the run config describes."""
    _log_to_console()
    run_config = dict(context.run_config)
    outputs = Outputs.take(run_config)
    outputs.check()
    settings = Settings.from_run_config(run_config)
    path = Path(outputs.out or f"out/{settings.dataset}-{settings.variant}-{time.strftime('%Y%m%d-%H%M%S')}")
    origin = {"run_id": str(context.run_id), "versions": software_versions()}
    folder = RunFolder.create(path.expanduser().absolute(), settings, origin)
    try:
        Federation(grid, settings, folder, outputs.reporters()).run()
    except PFedGPError:
        raise
    except Exception:
        (folder.path / "error.log").write_text(traceback.format_exc(), encoding="utf-8")
        raise


def _log_to_console() -> None:
    """Show the server's log lines, unless the program around it has decided where logs go."""
    logger = logging.getLogger("pfedgp")
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
