"""``simulate``: a whole federation from a notebook, with the settings and the numbers of ``pfedgp simulate``."""

import io
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pfedgp.api.run import Run
from pfedgp.collecting import collect
from pfedgp.local.resources import Resources
from pfedgp.options import check_simulation, run_folder

__all__ = ["simulate"]


def simulate(
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    gpus: int = 0,
    engine: str = "pool",
    quiet: bool = False,
    **settings: Any,
) -> Run:
    """Simulate a federation, and return its results once it is over.

    Parameters
    ----------
    out : str or Path, optional
        The run's own folder; default: a new one below ``out/``.
    workers : int, optional
        Processes that train clients; default: one a core.
    gpus : int
        GPUs that the workers share.
    engine : str
        ``pool``, or ``ray``, which is Flower's own; no number depends on it.
    quiet : bool
        Print nothing.
    **settings
        Settings by their keys (``pfedgp settings``) with ``_`` for ``-``: ``local_epochs=2``. Those of a group are
        given as ``**{"gp.kernel": "matern52"}``. ``dataset`` takes a path too, ``preset`` the name of a preset
        (default: ``auto``, which says in a line what it took).

    Returns
    -------
    Run

    Raises
    ------
    PFedGPError
        A setting is wrong, the data cannot be used, the folder holds a run, or the run failed.
    KeyboardInterrupt
        It was stopped; ``pfedgp resume`` goes on with it.

    Examples
    --------
    >>> run = simulate(dataset="digits", rounds=20, seed=1)
    >>> run.summary["accuracy"]
    """
    flat = {key.replace("_", "-"): str(value) if isinstance(value, Path) else value for key, value in settings.items()}
    resources = Resources(workers, gpus, engine)
    chosen, notes = collect(flat, {}, [])
    folder = run_folder("" if out is None else str(out), chosen)
    chosen = check_simulation(chosen, folder)
    from pfedgp.local.simulation import run_simulation

    with ExitStack() as silent:
        if quiet:
            silent.enter_context(redirect_stdout(io.StringIO()))
            silent.enter_context(redirect_stderr(io.StringIO()))
        for note in notes:
            print(note, flush=True)
        run_simulation(chosen, folder, resources)
    return Run(folder)
