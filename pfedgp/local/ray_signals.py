"""Signals while Ray runs: it takes Ctrl-C and SIGTERM for itself, and they have to end the run in order."""

import functools
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from pfedgp.processes.signals import StopSignals
from pfedgp_core.patch import Patch, lacks

__all__ = ["RaySignals"]


class RaySignals(Patch):
    """Takes the signals back from Ray, which on SIGTERM prints a stack of C++ and aborts, and at its end dies of one.

    Parameters
    ----------
    signals : StopSignals, optional
        Of this process; needed to apply the patch.
    """

    name: ClassVar = "ray-signals"
    purpose: ClassVar = "Ctrl-C and SIGTERM end a simulation on Ray in order"

    def __init__(self, signals: StopSignals | None = None) -> None:
        self._signals = signals

    def missing(self) -> str:
        """What of Ray is gone."""
        return (
            lacks("ray", "init")
            or lacks("ray._private.worker", "_global_node")
            or lacks("ray._private.node", "Node.kill_all_processes")
        )

    def apply(self) -> None:
        """Replace the function that starts Ray, until the end of the process; see `applied`."""
        import ray

        assert self._signals is not None
        ray.init = _keeping(self._signals, ray.init)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the patch where nothing is missing, and afterwards give Ray its own function back."""
        import ray

        start = ray.init
        if not self.missing():
            self.apply()
        try:
            yield
        finally:
            ray.init = start


def _keeping(signals: StopSignals, start: Callable[..., Any]) -> Callable[..., Any]:
    import ray

    @functools.wraps(start)  # another patch looks at what it takes
    def init(*arguments: Any, **options: Any) -> Any:
        try:
            started = start(*arguments, **options)
        except SystemExit:  # what Ray's own handler makes of a SIGTERM that comes before it has started
            signals.install()
            signal.raise_signal(signal.SIGTERM)
            raise
        finally:
            signals.install()
        # Before it ends its processes, Ray's library gives the signals their default actions.
        node = ray._private.worker._global_node
        if node is not None:
            node.kill_all_processes = _after(signals.install, node.kill_all_processes)
        return started

    return init


def _after(first: Callable[[], Any], then: Callable[..., Any]) -> Callable[..., Any]:
    def both(*arguments: Any, **options: Any) -> Any:
        first()
        return then(*arguments, **options)

    return both
