"""The end of Ray: it is shut down only once no thread is within a call of it any more."""

import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from pfedgp_core.errors import RunFailedError
from pfedgp_core.patch import Patch, lacks

__all__ = ["Calls", "RayEnd"]

BACKEND = "flwr.server.superlink.fleet.vce.backend.raybackend"
COMPUTING = "_future_to_actor"  # of a pool: its workers that compute
PATIENCE = 2.0  # seconds that clients under way have; their results would be lost anyway
KILLED = 10.0  # seconds after which a call whose worker is killed does not come back
AGAIN = 0.5  # a call that had just begun gets its worker after the first look


class Calls:
    """Counts the calls that threads are within, and lets no new one begin once it is closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way, self._closed = 0, False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count the block as a call.

        Raises
        ------
        RunFailedError
            No call may begin any more.
        """
        with self._changed:
            if self._closed:
                raise RunFailedError("The simulation engine has ended: run again, or resume the run.")
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """From now on no call begins."""
        with self._changed:
            self._closed = True

    def over_within(self, seconds: float) -> bool:
        """Wait for the calls under way, and say whether all have come back."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._under_way, seconds)


class RayEnd(Patch):
    """Replaces Flower's engine by one that waits for its threads before it shuts Ray down.

    After a signal, Flower shuts Ray down while threads wait for clients. A thread that is within Ray then ends the
    process with exit code 1 and a stack of C++, or waits for ever.
    """

    name: ClassVar = "ray-end"
    purpose: ClassVar = "a simulation on Ray that is told to end while clients compute ends in order"

    def missing(self) -> str:
        """What of Flower and Ray is gone."""
        return (
            lacks(BACKEND, "RayBackend.process_message", {"message", "context"})
            or lacks(BACKEND, "RayBackend.terminate")
            or lacks("flwr.simulation.ray_transport.ray_actor", "BasicActorPool.add_actor_back_to_pool")
            or lacks("ray", "kill", {"no_restart"})
        )

    def apply(self) -> None:
        """Replace the engine, until the end of the process; see `applied`."""
        from flwr.server.superlink.fleet.vce.backend import raybackend

        raybackend.RayBackend = _ending()  # type: ignore[misc]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Apply the patch where nothing is missing, and afterwards give Flower its own engine back."""
        if self.missing():
            yield
            return
        from flwr.server.superlink.fleet.vce.backend import raybackend

        former = raybackend.RayBackend
        self.apply()
        try:
            yield
        finally:
            raybackend.RayBackend = former  # type: ignore[misc]


def _ending() -> type[Any]:
    import ray
    from flwr.server.superlink.fleet.vce.backend.raybackend import RayBackend

    class Ending(RayBackend):
        """Flower's engine with a count of its calls."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            self._calls = Calls()
            super().__init__(*arguments, **options)

        def process_message(self, message: Any, context: Any) -> Any:
            with self._calls.one():
                try:
                    return super().process_message(message, context)
                except Exception as error:
                    # Its frames hold references into Ray's memory, which Ray must not see after its end.
                    traceback.clear_frames(error.__traceback__)
                    raise

        def terminate(self) -> None:
            self._calls.close()
            if self._calls.over_within(PATIENCE) or self._killed():
                super().terminate()
            else:
                print("The simulation engine does not answer: it ends with this process.", flush=True)

        def _killed(self) -> bool:
            """Kill the workers whose calls are under way, and say whether all calls have come back."""
            computing: dict[Any, Any] = getattr(self.pool, COMPUTING, {})
            for _ in range(int(KILLED / AGAIN)):
                for worker in list(computing.values()):  # other threads change it
                    with suppress(Exception):  # gone by now
                        ray.kill(worker, no_restart=True)
                if self._calls.over_within(AGAIN):
                    return True
            return False

    return Ending
