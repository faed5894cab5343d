"""A simulation on worker processes of this machine: Flower's apps and messages, on a grid and a back end of ours."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from flwr.app import Context, RecordDict
from flwr.common.constant import RUN_ID_NUM_BYTES, SUPERLINK_NODE_ID
from flwr.server.superlink.linkstate.utils import generate_rand_int_from_bytes
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from pfedgp.local.gpus import GPUShare
from pfedgp.local.pool.backend import PoolBackend
from pfedgp.local.pool.grid import PoolGrid
from pfedgp.local.serving import Serving
from pfedgp.local.workload import SharedData, client_app
from pfedgp_core.config import Settings
from pfedgp_core.freed_memory import keep_freed_memory

if TYPE_CHECKING:
    from server.engine import Engine

__all__ = ["POOL", "run_on_pool"]

POOL = "pool"
WINDOW = 16  # requests under way for each worker; the others wait at the server, as requests


def run_on_pool(
    settings: Settings, share: GPUShare, serving: Serving, watch: Callable[[PoolBackend], object] | None = None
) -> None:
    """Run a federation.

    Parameters
    ----------
    settings : Settings
        Of the run; ``participants`` is the number of nodes.
    share : GPUShare
        The number of workers, and their GPUs.
    serving : Serving
        The server app.
    watch : callable, optional
        Gets the back end as soon as there is one.

    Raises
    ------
    RunFailedError
        The workers did not start, or could not be started again.
    """
    keep_freed_memory()  # each round takes and frees the same vectors
    backend = PoolBackend(share.workers, SharedData(settings), share.enter)
    if watch is not None:
        watch(backend)
    try:
        backend.build(client_app)  # its processes load the same libraries as this one, at the same time
        from server.engine import Engine
        from server.flower.attended import attended

        run = Run.create_empty(generate_rand_int_from_bytes(RUN_ID_NUM_BYTES))
        # Every message of the server app says who it is from.
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, run.run_id, SUPERLINK_NODE_ID
        grid = PoolGrid(backend, settings.participants, run)

        def engine() -> "Engine":
            return Engine("simulation", WINDOW * share.workers, riding=False, steady=True, backend=POOL)

        grid.start(backend.wait_ready)
        context = Context(run.run_id, SUPERLINK_NODE_ID, {}, RecordDict(), {})
        app = serving.app(engine)
        attended(lambda: app(grid=grid, context=context))
        grid.stop()
    finally:
        serving.end()
        backend.terminate()
