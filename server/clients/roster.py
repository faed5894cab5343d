"""The roster: every connected node is greeted, and is known by its client's name afterwards."""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec, class_list, parse_shape
from pfedgp_core.errors import DataError
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import counted
from server.clients.agreement import Agreement, unlike_the_others
from server.clients.answering import Answering
from server.clients.federation_words import log_federation
from server.clients.greetings import BROKEN_RETRY_AFTER, RETRY_AFTER, Greetings
from server.clients.input_scales import off_scale, scale_doubts
from server.clients.kept_clients import KeptClients
from server.clients.key_names import KeyNames
from server.clients.membership import as_member, common_spec, difference
from server.clients.presence import Presence
from server.clients.record import NOWHERE, Client
from server.clients.roster_state import read_roster_state
from server.flower.messages import request_config
from server.flower.reply_checks import read_hello

__all__ = ["Client", "Roster"]

logger = logging.getLogger("pfedgp.server")


class Roster:
    """The clients of a run by name.

    Parameters
    ----------
    settings : Settings
        Of the run; the greeting carries them.
    window : int, optional
        Greetings that may be under way at a time (default: any number).
    excluded : collection of str
        Names of clients that take no part.

    Attributes
    ----------
    clients : dict of str to Client
        All that ever joined.
    answering : Answering
        Who is silent, and who fails.
    connected : set of int
        All nodes that were connected at the last look.
    awaited : set of str
        Names of clients that a resumed run still waits for.
    started : bool
        Whether the first `wait` is over.

    Raises
    ------
    ConfigError
        The setting ``class-names`` or ``input-shape`` cannot be read.
    """

    def __init__(self, settings: Settings, window: int | None = None, excluded: Collection[str] = ()) -> None:
        class_list(settings.class_names), parse_shape(settings.input_shape)
        self.settings = settings
        self.clients, self._called = dict[str, Client](), dict[int, str]()  # by name; node id -> what it was called
        self._spec: DataSpec | None = None
        self.answering = Answering(settings.wait_timeout)
        self._greetings = Greetings(window)
        self._keys, self._kept, self._agreement = KeyNames(excluded), KeptClients(), Agreement(settings)
        self.connected, self.awaited = set[int](), set[str]()
        self.started = False
        self._there: tuple[int, Presence] | None = None  # changes of who answers up to then, and who was where
        self._own: tuple[int, bool] | None = None  # clients that were counted, and whether most have data of their own

    @property
    def reference(self) -> Hello:
        """The hello of the client that joined first; in a simulation all others agree with it."""
        return next(iter(self.clients.values())).hello

    @property
    def own_data(self) -> bool:
        """Whether the clients, or at least half of them, have data of their own, and are no simulation."""
        if self._own is None or self._own[0] != len(self.clients):
            own = sum(client.hello.own_data for client in self.clients.values())
            self._own = len(self.clients), own > 0 and 2 * own >= len(self.clients)
        return self._own[1]

    @property
    def spec(self) -> DataSpec:
        """Classes, shape and normalisation of the federation's data; before `freeze` what they would be now."""
        return self._spec or self._agreement.completed(common_spec([c.hello for c in self.all], self.settings))

    @property
    def all(self) -> list[Client]:
        """All clients that ever joined, by name."""
        return list(self._presence().all)

    def online(self) -> list[Client]:
        """Clients whose node was connected at the last look and that answer, by name."""
        return list(self._presence().online)

    @property
    def refusals(self) -> dict[int, str]:
        """Connected nodes that cannot take part, and why."""
        return {node: reason for node, reason in self._greetings.refused.items() if node in self.connected}

    @property
    def delays(self) -> list[str]:
        """What is said of connected nodes that cannot take part for now."""
        return [sentence for node, sentence in self._greetings.delayed.items() if node in self.connected]

    def starting(self) -> int:
        """Number of connected nodes that were greeted for the first time and have not answered yet."""
        return len(self.connected & self._greetings.waiting - set(self.by_node()) - set(self.refusals))

    def returning(self) -> list[str]:
        """Names of clients whose node is connected and that have not answered their greeting yet."""
        return list(self._presence().returning)

    def missing(self) -> list[str]:
        """Names of known clients that are not online."""
        return list(self._presence().missing)

    def by_node(self) -> dict[int, Client]:
        """Clients by node id."""
        return {client.node_id: client for client in self.clients.values() if client.node_id != NOWHERE}

    def settle(self) -> None:
        """Before the federation's data are fixed, refuse who does not belong with most of those that are there."""
        if self._spec is not None or self.started:
            return
        for name, reason in unlike_the_others([client.hello for client in self.online()], self._agreement).items():
            node = self.clients.pop(name).node_id
            self._greetings.refuse(node, reason, f"refused: {reason}", BROKEN_RETRY_AFTER)
        self._there = None
        for doubt in scale_doubts([client.hello for client in self.all if not client.hello.summary]):
            logger.warning("%s", doubt)

    def agree(self) -> bool:
        """Fix the rules of the sites' columns where these are to agree on them; then all are greeted anew with them."""
        if not (self._agreement.open and self.own_data):
            return False
        self._agreement.close([client.hello for client in self.online()])
        self.clients, self._there, self._own = {}, None, None
        return True

    def freeze(self) -> DataSpec:
        """Fix what the federation's data are, from all clients that joined up to now; once.

        Raises
        ------
        RunFailedError
            The sites' data have nothing in common that one model could learn.
        """
        if self._spec is None:
            self._spec = self.spec
            if self.own_data:
                listed = bool(self.settings.class_names.strip())
                log_federation(self._spec, [client.hello for client in self.all], listed)
            for client in self.clients.values():
                client.hello = as_member(client.hello, self._spec)
        return self._spec

    def adopt(self, spec: DataSpec, clients: Iterable[Client], awaited: Collection[str] = ()) -> None:
        """Take over the federation of a checkpoint, before the first `wait`.

        The clients' node ids have no meaning any more; they join when they answer a greeting. `awaited` are names of
        sites that the next `wait` gives some time to come back; of a simulation it waits for all.
        """
        self.clients, self._own = {c.name: Client(NOWHERE, c.hello, list(c.trained_in), c.key) for c in clients}, None
        for name in self.clients:
            self._keys.joined(name)
        self._there, self._spec, self.started = None, spec, True
        self._agreement.adopt(spec.rules)
        self.awaited = set(awaited if self.own_data else self.clients)

    def to_state(self) -> dict[str, Any]:
        """All that a checkpoint keeps, as plain values of JSON."""
        return {"spec": self.freeze().to_json()} | self._kept.to_state(self.all, self.missing())

    def adopt_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `to_state` returned; see `adopt`.

        Raises
        ------
        DamagedStateError
            It is something else.
        """
        self.adopt(*read_roster_state(state))

    def refresh(self, grid: Grid) -> None:
        """Greet whom the roster does not know or did not hear, and take in what greeted ones answered; never waits."""
        self._look(set(grid.get_node_ids()))
        if self._keys.look_up(grid, self.connected):
            self._displace()
            self._there = None
        lifetimes, by_node = self._to_greet(), self.by_node()
        asks = request_config(self.settings, spec=self._spec, rules=self._agreement.rules)
        for node in self._greetings.send(grid, asks, lifetimes):
            if node in by_node:
                self.answering.greeted(by_node[node].name)
        for node, message in self._greetings.answers(grid):
            if self._keys.knows(node):  # else it has left again
                self._take_in(node, message)
                self._there = None
        self._greetings.notices.send(grid, self.connected)

    def tell(self, name: str, words: str) -> None:
        """Let a client with data of its own read what the server says of its reply."""
        if (client := self.clients.get(name)) and client.node_id != NOWHERE and self.own_data:
            self._greetings.notices.tell(client.node_id, words, refused=False)

    def _presence(self) -> Presence:
        """Who is where now; `_there` is forgotten wherever clients, nodes or refusals change."""
        if self._there is None or self._there[0] != self.answering.changes:
            found = Presence.of(self.clients, self.connected - set(self.refusals), self.answering.awaited)
            self._there = self.answering.changes, found
        return self._there[1]

    def _look(self, online: set[int]) -> None:
        """Note who left; a client that comes back has to present itself."""
        left = self.connected - online
        self._greetings.forget(left)
        by_node = self.by_node() if left else {}
        for node in left:
            if node in by_node:
                self.answering.left(by_node[node].name)
        self.connected, self._there = online, None

    def _to_greet(self) -> dict[int, float]:
        """Nodes to greet now, and how long each greeting lives."""
        by_node, lifetimes = self.by_node(), {}
        for node in self._greetings.due(self.connected):
            if (client := by_node.get(node)) is None or node in self._greetings.refused:
                lifetimes[node] = self.settings.wait_timeout
            elif (life := self.answering.greeting(client.name)) is not None:
                lifetimes[node] = life
        return lifetimes

    def _take_in(self, node: int, message: Message) -> None:
        """Accept a client, or say why not."""
        try:
            hello = read_hello(message)
        except DataError as error:
            known = self.by_node().get(node)
            who = known.name if known else self._keys.of(node) or f"node {node}"
            self._greetings.failed(node, who, str(error), message)
            return
        namesake, reason = self.clients.get(hello.name), self._keys.pretended(hello.name, node, self.clients)
        if not reason and namesake and namesake.node_id != node and namesake in self.online():
            reason = f"Two connected clients are named {hello.name!r}: give each its own client-name."
            self._greetings.put_off(node, f"node {node} cannot take part for now: {reason}", RETRY_AFTER)
        elif reason := reason or self._keys.twin(hello.name, node, self.clients) or self._unfit(hello):
            self._greetings.refuse(node, reason, f"refused: {reason}", BROKEN_RETRY_AFTER)
        elif hello.summary and not self._agreement.open:
            late = f"{hello.name} tells of its columns after the sites have agreed on rules: it is asked again"
            self._greetings.put_off_longer(node, late, RETRY_AFTER)
        else:
            self._welcome(node, as_member(hello, self._spec) if self._spec else hello)

    def _unfit(self, hello: Hello) -> str:
        """Say why a client does not belong here; empty where it does."""
        reason = difference(hello, self.reference) if self.started and self.clients else ""
        return reason or self._agreement.unfit(hello, self._spec)

    def _displace(self) -> None:
        """Take a name from a client that used it before the site with that key came; its rounds are not the owner's."""
        for name, client in list(self.clients.items()):
            if client.node_id != NOWHERE and (reason := self._keys.pretended(name, client.node_id, self.clients)):
                rounds = f" It trained in {counted(len(client.trained_in), 'round')}." if client.trained_in else ""
                logger.warning("%s%s", reason, rounds)
                self.clients[name] = Client(NOWHERE, client.hello)
                if not self.started:
                    del self.clients[name]

    def _welcome(self, node: int, hello: Hello) -> None:
        self._greetings.accept(node)
        self._own = None
        known, key = self.clients.get(hello.name), self._keys.of(node)
        self._keys.joined(hello.name)
        other = self.clients.get(self._called.get(node, ""))
        if other and other.node_id == node and other is not known:  # one node is one client, whatever it was called
            logger.warning("%s now calls itself %s", other.name, hello.name)
            other.node_id = NOWHERE
        self._called[node] = hello.name
        if self.started and self._spec and (doubt := off_scale(hello, self._spec)):
            logger.warning("%s", doubt)
        if known is None:
            self.clients[hello.name] = Client(node, hello, key=key)
            if self.started:
                logger.info("%s joins", hello.name)
            return
        if known.node_id != node or self.answering.awaited(hello.name):
            logger.info("%s is back", hello.name)
        known.node_id, known.hello, known.key = node, hello, key or known.key
        self.answering.answered(hello.name)
