"""A simulation on Flower's own engine, which is Ray: on this machine, or on a cluster of several."""

import io
import logging
import os
import sys
from contextlib import ExitStack, redirect_stdout
from typing import TYPE_CHECKING, Any

from pfedgp.local.gpus import GPUShare
from pfedgp.local.ray_end import RayEnd
from pfedgp.local.ray_signals import RaySignals
from pfedgp.local.ray_start import RayStart, socket_folder
from pfedgp.local.serving import Serving
from pfedgp.local.workload import client_app
from pfedgp.operator.addresses import is_open, parse_address
from pfedgp.processes.limits import allow_files
from pfedgp.processes.signals import StopSignals
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.patch import lost_patches
from pfedgp_core.words import counted

if TYPE_CHECKING:
    from server.engine import Engine

__all__ = ["RAY", "run_on_ray"]

RAY = "ray"
# Requests under way for each worker. The engine looks at every request for every node ten times a second, so hundreds
# of requests to hundreds of nodes would keep a core busy with nothing else.
WINDOW = 16
FILES, FILES_A_WORKER = 448, 64  # open at once: Ray's own processes, and those of each worker
QUIET: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}


def run_on_ray(settings: Settings, share: GPUShare, cluster: str, serving: Serving, signals: StopSignals) -> None:
    """Run a federation.

    Parameters
    ----------
    settings : Settings
        Of the run; ``participants`` is the number of nodes.
    share : GPUShare
        The number of workers, and their GPUs; a cluster has as many workers as its nodes have CPUs.
    cluster : str
        Address of a Ray cluster; empty: Ray is started on this machine, and ended with the run.
    serving : Serving
        The server app.
    signals : StopSignals
        Of this process.

    Raises
    ------
    ConfigError
        This process may not open as many files as Ray needs, or has no folder for its sockets.
    RunFailedError
        Ray does not start, or there is no cluster at this address.
    """
    import flwr.simulation

    logging.getLogger("flwr").setLevel(logging.CRITICAL)  # what fails is named by the run's own log
    farewell, workers, gpus = ExitStack(), share.workers, float(share.gpus)
    with RaySignals(signals).applied(), RayStart().applied(), RayEnd().applied():
        lost = tuple(lost_patches([RaySignals(), RayStart(), RayEnd()]))
        options = QUIET | ({} if cluster else _of_this_machine(share))
        if cluster:
            workers = _join(cluster)
        a_worker = 0.0 if not gpus else min(1.0, gpus / workers)

        def engine() -> "Engine":
            from server.engine import Engine

            return Engine("simulation", WINDOW * workers, riding=False, patches_missing=lost, steady=True, backend=RAY)

        def over() -> None:
            # From here on Ray only prints that its actors have ended, as they were told to.
            farewell.enter_context(redirect_stdout(io.StringIO()))

        try:
            flwr.simulation.run_simulation(
                serving.app(engine, over),
                client_app(),
                num_supernodes=settings.participants,
                backend_config={
                    # Passed on to Ray's actors: one that dies is started again and its message tried once more, or
                    # Flower would go on handing messages to it, which fail at once.
                    "client_resources": {
                        "num_cpus": 1,
                        "num_gpus": a_worker,
                        "max_restarts": -1,
                        "max_task_retries": 1,
                    },
                    "init_args": options,
                },
            )
        finally:
            serving.end()  # where the engine failed, the server app notices that now
            farewell.close()


def _of_this_machine(share: GPUShare) -> dict[str, Any]:
    """What Ray is started with on this machine."""
    allow_files(FILES + FILES_A_WORKER * share.workers, f"A simulation with {counted(share.workers, 'worker')}")
    options: dict[str, Any] = {"num_cpus": share.workers, "num_gpus": share.gpus}
    if folder := socket_folder():
        print(f"The simulation engine keeps its files in {folder}, as the name of TMPDIR is too long.", flush=True)
        options["_temp_dir"] = folder
    return options


def _join(cluster: str) -> int:
    """Connect to a cluster, and return its number of CPUs; Flower's engine takes the connection that there is."""
    import ray

    path = os.pathsep.join(sys.path)
    none = f"There is no Ray cluster at {cluster}"
    remedy = "start one with ray start --head, as docs/simulate.md says."
    if not is_open(*parse_address(cluster, "--cluster")):  # Ray itself tries for minutes
        raise RunFailedError(f"{none} (nothing answers there): {remedy}")
    try:
        ray.init(address=cluster, runtime_env={"env_vars": {"PYTHONPATH": path}}, **QUIET)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise RunFailedError(f"{none} ({' '.join(str(error).split())[:200]}): {remedy}") from error
    cpus = int(ray.cluster_resources().get("CPU", 0))
    print(
        f"The cluster at {cluster} has {counted(len(ray.nodes()), 'machine')} with {counted(cpus, 'CPU')}.", flush=True
    )
    return max(1, cpus)
