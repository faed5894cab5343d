"""Who takes part: every connected node is greeted once, and known by its client's name from then on."""

import logging
import time
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.data_spec import DataSpec
from pfedgp_core.errors import DataError, RunFailedError
from pfedgp_core.exchange import HELLO, Hello
from server.messages import Poll, push, request, request_config
from server.reply_checks import read_hello

__all__ = ["Client", "Roster"]

logger = logging.getLogger("pfedgp.server")

# Seconds after which a federation in which no connected client can take part is not worth waiting for.
BROKEN_PATIENCE = 10.0
WAITING_LOG_INTERVAL = 20.0
# Seconds until a node is greeted again that could not answer, or whose name another connected node has. A client that
# crashed and came back is such a namesake: its former node counts as connected for up to a minute.
RETRY_AFTER = 2.0
# Flower's codes of errors that come back unchanged however often one asks: the app does not load, raises, is refused.
LASTING_ERRORS = {1, 2, 7}


@dataclass
class Client:
    """A greeted client. Flower's node id is random in each run, so everything that lasts goes by the name."""

    node_id: int
    hello: Hello
    trained_in: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The client's own name."""
        return self.hello.name


class Roster:
    """The clients of a run by name.

    Parameters
    ----------
    settings : Settings
        Of the run; the greeting carries them.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clients: dict[str, Client] = {}
        self._online: set[int] = set()
        self._pending: dict[str, int] = {}  # greeting's message id -> node id
        self._broken: dict[int, str] = {}  # node id -> why it cannot take part
        self._put_off: dict[int, tuple[float, str]] = {}  # node id -> when to greet it again, why it was not taken
        self._started = False

    @property
    def reference(self) -> Hello:
        """The hello that all others agree with in class names, input shape and partition."""
        return next(iter(self.clients.values())).hello

    @property
    def spec(self) -> DataSpec:
        """Classes, shape and normalisation of the federation's data."""
        hello = self.reference
        return DataSpec(hello.class_names, hello.input_shape, hello.mean, hello.std)

    @property
    def all(self) -> list[Client]:
        """All clients that ever joined, by name."""
        return [self.clients[name] for name in sorted(self.clients)]

    def online(self) -> list[Client]:
        """Clients whose node was connected at the last look, by name."""
        return [client for client in self.all if client.node_id in self._online]

    def by_node(self) -> dict[int, Client]:
        """Clients by node id."""
        return {client.node_id: client for client in self.clients.values()}

    def refresh(self, grid: Grid) -> None:
        """Greet new nodes and take in what greeted ones answered; never waits."""
        self._online = set(grid.get_node_ids())
        known = set(self.by_node()) | set(self._pending.values()) | set(self._broken)
        known |= {node for node, (again, _) in self._put_off.items() if time.monotonic() < again}
        config, timeout = request_config(self.settings), self.settings.wait_timeout
        room = getattr(grid, "window", len(self._online)) - len(self._pending)
        new = sorted(self._online - known)[: max(room, 0)]
        greetings = [request(HELLO, node, config, None, timeout) for node in new]
        if greetings:
            sent = set(push(grid, greetings))
            ids = {m.metadata.message_id: m.metadata.dst_node_id for m in greetings}
            self._pending |= {message_id: node for message_id, node in ids.items() if message_id in sent}
        if self._pending:
            answers = list(grid.pull_messages(list(self._pending)))
            nodes = [self._pending.pop(m.metadata.reply_to_message_id) for m in answers]
            for node, message in sorted(zip(nodes, answers, strict=True), key=lambda pair: pair[0]):
                self._take_in(node, message)

    def wait(self, grid: Grid) -> None:
        """Refresh until enough clients are there.

        Before the first round that is every client of a simulated data set, or ``clients-per-round`` clients with data
        of their own; later it is ``min-results``.

        Raises
        ------
        RunFailedError
            Too few after ``wait-timeout`` seconds, or earlier where all that is connected cannot take part; before the
            first round also where two clients share a name or clients do not share one partition.
        """
        start = time.monotonic()
        poll, next_log, unusable_since = Poll(), start + WAITING_LOG_INTERVAL / 5, None
        while True:
            self.refresh(grid)
            needed, now = self._needed(), time.monotonic()
            if len(self.online()) >= needed:
                self._started = True
                return
            unusable = bool(self._online) and self._online <= set(self._broken)
            unusable_since = (unusable_since or now) if unusable else None
            if unusable_since and now - unusable_since > BROKEN_PATIENCE:
                raise RunFailedError(self._nobody_fits())
            if now - start > self.settings.wait_timeout:
                raise RunFailedError(
                    f"{self._state(needed)} after {self.settings.wait_timeout:g} s: "
                    "start the missing ones, or raise wait-timeout."
                )
            if now >= next_log:
                logger.info("waiting: %s", self._state(needed))
                next_log = now + WAITING_LOG_INTERVAL
            poll.sleep(self.settings.wait_timeout)

    def _needed(self) -> int:
        if self._started:
            return self.settings.min_results
        simulated = bool(self.clients) and bool(self.reference.partition_hash)
        return self.settings.participants if simulated else self.settings.clients_per_round

    def _take_in(self, node: int, message: Message) -> None:
        """Accept a client, or say why not."""
        try:
            hello = read_hello(message)
        except DataError as error:
            reason = f"{error} (its own log says more)"
            if not message.has_error() or message.error.code in LASTING_ERRORS:
                self._broken[node] = str(error)
                logger.warning("node %s cannot take part: %s", node, reason)
            else:
                self._retry(node, reason)
            return
        namesake = self.clients.get(hello.name)
        if namesake and namesake.node_id in self._online:
            reason = f"Two connected clients are named {hello.name!r}: give each its own client-name."
            if not self._started:
                raise RunFailedError(reason)
            self._retry(node, reason)
        elif self.clients and (reason := self._difference(hello)):
            if not self._started:
                raise RunFailedError(reason)
            self._broken[node] = reason
            logger.warning("node %s is refused: %s", node, reason)
        elif namesake:
            logger.info("%s is back", hello.name)
            namesake.node_id, namesake.hello = node, hello
        else:
            self.clients[hello.name] = Client(node, hello)
            if self._started:
                logger.info("%s joins", hello.name)

    def _difference(self, hello: Hello) -> str:
        """Say in which way a client does not belong with the others; empty where it does."""
        reference = self.reference
        if hello.partition_hash != reference.partition_hash:
            mine, other = hello.partition_hash[:12] or "own data", reference.partition_hash[:12] or "own data"
            return (
                f"Clients do not share one partition ({hello.name}: {mine}, {reference.name}: {other}): "
                "give all of them the same data set and the same pfedgp version."
            )
        if hello.class_names != reference.class_names:
            return f"{hello.name} and {reference.name} have different class lists: give all clients the same one."
        if (hello.mean, hello.std) != (reference.mean, reference.std):
            return (
                f"{hello.name} and {reference.name} normalise their inputs differently: give both the same statistics."
            )
        if hello.input_shape != reference.input_shape:
            return (
                f"{hello.name} has inputs of shape {list(hello.input_shape)}, {reference.name} of "
                f"{list(reference.input_shape)}: bring all clients' data to one shape."
            )
        return ""

    def _retry(self, node: int, reason: str) -> None:
        """Greet a node again later; log a reason once."""
        if self._put_off.get(node, (0.0, ""))[1] != reason:
            logger.warning("node %s cannot take part for now: %s", node, reason)
        self._put_off[node] = (time.monotonic() + RETRY_AFTER, reason)

    def _state(self, needed: int) -> str:
        here = [client.name for client in self.online()]
        text = f"{len(here)} of {needed} clients are ready"
        if here:
            text += f" ({', '.join(here[:10])}{', ...' if len(here) > 10 else ''})"
        if silent := len(self._online & set(self._pending.values())):
            text += f", {silent} more are starting"
        reasons = sorted(self._broken[node] for node in self._online & set(self._broken))
        return text + (f", {len(reasons)} cannot take part ({', '.join(reasons[:10])})" if reasons else "")

    def _nobody_fits(self) -> str:
        reasons = sorted({self._broken[node] for node in self._online})
        return (
            f"None of the {len(self._online)} connected clients can take part ({', '.join(reasons)}): their own logs "
            f"say why; a simulation has as many nodes as clients take part, {self.settings.participants}."
        )
