"""A simulated federation: the same two apps as in a deployment, on processes of this machine or on Flower's engine."""

import os
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfedgp.local.resources import Resources
from pfedgp.processes.flower import QUIET
from pfedgp.processes.limits import allow_files
from pfedgp.processes.proxies import direct
from pfedgp.processes.signals import StopSignals, interrupted
from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError, RunFailedError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.words import counted

if TYPE_CHECKING:
    from pfedgp.local.pool.backend import PoolBackend
    from server.outputs import Outputs

__all__ = ["failure", "run_simulation"]

GRACE = 60.0  # seconds after Ctrl-C or SIGTERM in which all ends, or is ended
FILES, FILES_A_WORKER = 64, 4  # open at once on the pool


def run_simulation(
    settings: Settings,
    out_dir: Path | str,
    resources: Resources | None = None,
    outputs: "Outputs | None" = None,
    resume: bool = False,
    watch: "Callable[[PoolBackend], object] | None" = None,
) -> dict[str, Any]:
    """Run a whole federation.

    Parameters
    ----------
    settings : Settings
    out_dir : Path or str
        Folder of the artefacts; must not hold a run. ``clients.log`` in it takes the tracebacks of clients.
    resources : Resources, optional
        What it runs on (default: the pool, with a worker a core); no number depends on it.
    outputs : Outputs, optional
        Where else the results go; its ``out`` is not used.
    resume : bool
        Go on with the run in `out_dir`; of `settings`, which are its own, the number of rounds may have grown.
    watch : callable, optional
        Gets the back end of the pool as soon as there is one.

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
    resources = resources or Resources()
    out = Path(out_dir).expanduser().absolute()
    client_log = out / "clients.log"
    apart = {"PFEDGP_CLIENT_LOG": str(client_log), "PFEDGP_KEPT": str(out / "kept")}  # what clients write
    with warnings.catch_warnings(), _environment(QUIET | direct(os.environ) | apart):
        warnings.simplefilter("ignore", FutureWarning)  # of Ray, about its own next version
        try:
            with interrupted(GRACE) as signals:
                _simulate(settings, resources, _run_config(settings, out, outputs, resume), signals, watch)
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
    settings: Settings,
    resources: Resources,
    run_config: dict[str, Any],
    signals: StopSignals,
    watch: "Callable[[PoolBackend], object] | None",
) -> None:
    share, clients = resources.share, counted(settings.participants, "client")
    if resources.engine == "pool":
        print(f"Starting {counted(share.workers, 'worker')} for {clients} ...", flush=True)
        allow_files(FILES + FILES_A_WORKER * share.workers, f"A simulation with {counted(share.workers, 'worker')}")
        from pfedgp.local.pool_engine import run_on_pool
        from pfedgp.local.serving import Serving

        run_on_pool(settings, share, Serving(run_config, signals), watch)
        return
    print(f"Starting Flower's simulation engine for {clients} ...", flush=True)
    from pfedgp.local.ray_engine import run_on_ray
    from pfedgp.local.serving import Serving

    run_on_ray(settings, share, resources.cluster, Serving(run_config, signals), signals)


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
