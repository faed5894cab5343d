"""The server app of one simulation, as a ServerApp of Flower: any engine can start it, and it ends with its engine."""

import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from pfedgp.processes.signals import StopSignals
from pfedgp_core.errors import RunFailedError

if TYPE_CHECKING:
    from server.engine import Engine

__all__ = ["Serving"]

ENDS = 45.0  # seconds that the server app may take to notice that its engine is gone


class Serving:
    """Serves one run on the grid of an engine.

    Parameters
    ----------
    run_config : dict
        Of the run.
    signals : StopSignals
        Of this process: one that came ends the server app too, and is the reason that the run leaves behind.
    """

    def __init__(self, run_config: dict[str, Any], signals: StopSignals) -> None:
        self._run_config, self._signals = run_config, signals
        self._stopped, self._threads = threading.Event(), list[threading.Thread]()

    def app(self, engine: Callable[[], "Engine"], over: Callable[[], Any] = lambda: None) -> ServerApp:
        """Return the app.

        Parameters
        ----------
        engine : callable
            Says how the run may use its grid; called when the engine has started.
        over : callable
            Called when the run is over and the engine is not.
        """
        app = ServerApp()

        # Flower's engine gives the app an empty run config, so this one fills it in.
        @app.main()
        def main(grid: Grid, context: Context) -> None:
            from server.server_app import serve

            self._threads.append(threading.current_thread())
            full = Context(context.run_id, context.node_id, context.node_config, context.state, dict(self._run_config))
            try:
                serve(_EndingGrid(grid, self._stopped, self._signals), full, engine())  # type: ignore[arg-type]
            finally:
                over()

        return app

    def end(self) -> None:
        """The engine is gone: the server app notices that, leaves its summary, and has ended when this returns."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(ENDS)


class _EndingGrid:
    """A grid that ends the server app once the engine behind it is gone; without it the app would wait for clients.

    Parameters
    ----------
    grid : Grid
        Of the engine.
    stopped : Event
        Set when the engine has ended.
    signals : StopSignals
    """

    def __init__(self, grid: Grid, stopped: threading.Event, signals: StopSignals) -> None:
        self._grid, self._stopped, self._signals = grid, stopped, signals

    def __getattr__(self, name: str) -> Any:
        if self._signals.came is not None:
            raise RunFailedError(f"The run was stopped by {signal.Signals(self._signals.came).name}.")
        if self._stopped.is_set():
            raise RunFailedError("The simulation engine stopped during the run: its own message says why.")
        return getattr(self._grid, name)
