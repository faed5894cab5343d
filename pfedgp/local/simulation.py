"""A simulated federation on this machine: the same two apps as in a deployment, on Flower's simulation engine (Ray)."""

import io
import logging
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.local.ray_signals import RaySignals
from pfedgp.local.ray_start import RayStart, socket_folder
from pfedgp.processes.flower import QUIET
from pfedgp.processes.limits import allow_files
from pfedgp.processes.proxies import direct
from pfedgp.processes.signals import StopSignals, interrupted
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, PFedGPError, RunFailedError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.patch import lost_patches
from pfedgp_core.words import counted

if TYPE_CHECKING:
    from flwr.serverapp import Grid

    from server.outputs import Outputs

__all__ = ["failure", "run_simulation"]


# Requests under way for each worker. The engine looks at every request for every node ten times a second, so hundreds
# of requests to hundreds of nodes would keep a core busy with nothing else.
WINDOW = 16
SERVER_APP_ENDS = 45.0  # seconds that the server app may take to notice that its engine is gone
GRACE = 60.0  # seconds after Ctrl-C or SIGTERM in which all ends, or is ended
FILES, FILES_A_WORKER = 448, 64  # open at once: Ray's own processes, and those of each worker


def run_simulation(
    settings: Settings,
    out_dir: Path | str,
    workers: int | None = None,
    outputs: "Outputs | None" = None,
    resume: bool = False,
) -> dict[str, Any]:
    """Run a whole federation on this machine.

    Parameters
    ----------
    settings : Settings
    out_dir : Path or str
        Folder of the artefacts; must not hold a run. ``clients.log`` in it takes the tracebacks of clients.
    workers : int, optional
        Processes that train clients, one core each (default: one a core of the machine).
    outputs : Outputs, optional
        Where else the results go; its ``out`` is not used.
    resume : bool
        Go on with the run in `out_dir`; of `settings`, which are its own, the number of rounds may have grown.

    Returns
    -------
    dict
        The summary, as in ``summary.json``.

    Raises
    ------
    PFedGPError
        The run failed; the text says why. After an unexpected error, ``error.log`` holds the traceback.
    KeyboardInterrupt
        Ctrl-C or SIGTERM came (see ``pfedgp.processes.signals``); the run can be resumed.
    """
    workers = workers if workers is not None else os.cpu_count() or 1
    if workers < 1:
        raise ConfigError(f"workers = {workers} is too few: give at least 1.")
    allow_files(FILES + FILES_A_WORKER * workers, f"A simulation with {counted(workers, 'worker')}")
    engine = {"num_cpus": workers, "logging_level": "ERROR", "log_to_driver": False}
    if folder := socket_folder():
        print(f"The simulation engine keeps its files in {folder}, as the name of TMPDIR is too long.", flush=True)
        engine["_temp_dir"] = folder
    out = Path(out_dir).expanduser().absolute()
    client_log = out / "clients.log"
    apart = {"PFEDGP_CLIENT_LOG": str(client_log), "PFEDGP_KEPT": str(out / "kept")}  # what clients write
    with warnings.catch_warnings(), _environment(QUIET | direct(os.environ) | apart):
        warnings.simplefilter("ignore", FutureWarning)  # of Ray, about its own next version
        try:
            with interrupted(GRACE) as signals:
                _simulate(settings, engine, _run_config(settings, out, outputs, resume), signals)
        except PFedGPError as error:
            if client_log.exists():
                raise type(error)(f"{error} The clients' own log is {client_log}.") from error
            raise
        except Exception as error:
            if own := _own_error(error):
                raise own from error
            raise RunFailedError(failure(error, out)) from error
    return read_object(out / "summary.json")


def failure(error: BaseException, out: Path) -> str:
    """Say in one sentence what an unexpected error was and where it happened; its traceback goes to ``error.log``."""
    cause = error
    while cause.__cause__ is not None:  # Flower wraps an error of its engine twice
        cause = cause.__cause__
    frames = traceback.extract_tb(cause.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(cause).split())
    log = out / "error.log"
    if out.is_dir():
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    return f"The run ended with {type(cause).__name__}{place}: {text[:500]} (traceback in {log})."


def _own_error(error: BaseException) -> PFedGPError | None:
    """The error of ours that Flower has wrapped in its own, where there is one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, PFedGPError):
        cause = cause.__cause__
    return cause


def _run_config(settings: Settings, out: Path, outputs: "Outputs | None", resume: bool) -> dict[str, Any]:
    from server.outputs import Outputs

    outputs = replace(outputs or Outputs(), out=str(out))
    own = {"resume": str(out), "rounds": settings.rounds} if resume else settings.to_run_config()
    return own | outputs.to_run_config()


def _simulate(
    settings: Settings, engine_options: dict[str, Any], run_config: dict[str, Any], signals: StopSignals
) -> None:
    print(f"Starting Flower's simulation engine for {settings.participants} clients ...", flush=True)
    import flwr.simulation
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp

    import client.client_app
    import server.server_app
    from server.engine import Engine

    logging.getLogger("flwr").setLevel(logging.CRITICAL)  # what fails is named by the run's own log
    engine_stopped = threading.Event()
    farewell, threads = ExitStack(), list[threading.Thread]()
    launcher = ServerApp()

    # Flower's run_simulation gives the app an empty run config, so this one fills it in and calls the real one.
    @launcher.main()
    def main(grid: Grid, context: Context) -> None:
        threads.append(threading.current_thread())
        own_grid = _SimulationGrid(grid, engine_stopped, signals)
        lost = tuple(lost_patches([RaySignals(), RayStart()]))
        engine = Engine("simulation", WINDOW * engine_options["num_cpus"], riding=False, patches_missing=lost)
        full = Context(context.run_id, context.node_id, context.node_config, context.state, dict(run_config))
        try:
            server.server_app.serve(own_grid, full, engine)  # type: ignore[arg-type]
        finally:
            # From here on Ray only prints that its actors have ended, as they were told to.
            farewell.enter_context(redirect_stdout(io.StringIO()))

    try:
        with RaySignals(signals).applied(), RayStart().applied():
            flwr.simulation.run_simulation(
                launcher,
                client.client_app.app,
                num_supernodes=settings.participants,
                backend_config={
                    # Passed on to Ray's actors: one that dies is started again and its message tried once more, or
                    # Flower would go on handing messages to it, which fail at once.
                    "client_resources": {"num_cpus": 1, "num_gpus": 0.0, "max_restarts": -1, "max_task_retries": 1},
                    "init_args": engine_options,
                },
            )
    finally:
        engine_stopped.set()
        for thread in threads:  # where the engine failed, the server app notices that now, and leaves its summary
            thread.join(SERVER_APP_ENDS)
        farewell.close()


class _SimulationGrid:
    """A grid that ends the server app once the engine behind it is gone; without it the app would wait for clients.

    Parameters
    ----------
    grid : Grid
        Of the engine.
    stopped : Event
        Set when the engine has ended.
    signals : StopSignals
        Of this process: one that came ends the server app too, and is the reason that the run leaves behind.
    """

    def __init__(self, grid: "Grid", stopped: threading.Event, signals: StopSignals) -> None:
        self._grid, self._stopped, self._signals = grid, stopped, signals

    def __getattr__(self, name: str) -> Any:
        if self._signals.came is not None:
            raise RunFailedError(f"The run was stopped by {signal.Signals(self._signals.came).name}.")
        if self._stopped.is_set():
            raise RunFailedError("The simulation engine stopped during the run: its own message says why.")
        return getattr(self._grid, name)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the processes that start meanwhile; afterwards all is as before."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
