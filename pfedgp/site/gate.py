"""The site's gate: its policy is asked before a request is taken up, and again before the reply to it leaves.

It stands in the agent, outside the process that runs the app, and reads the policy anew each time. Whatever it cannot
read or does not know is refused.
"""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from flwr.app import Message

from pfedgp.site.outgoing import check_parts, leaving_change, vector_in
from pfedgp_core.column_rules import FEDERATED
from pfedgp_core.config import Settings
from pfedgp_core.errors import PFedGPError, PolicyError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.policy import requests
from pfedgp_core.policy.floor import evaluation_that_leaves, greeting_that_leaves, training_that_leaves
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.refusals import note_refusal
from pfedgp_core.policy.runs import Runs, run_hash
from pfedgp_core.policy.site_policy import SitePolicy, read_policy
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import (
    CLASSES,
    CONFIG,
    EVALUATE,
    HELLO,
    METRICS,
    MODEL,
    NOTICE,
    ONBOARD,
    ONBOARDED,
    ROUND,
    SETTINGS,
    TRAIN,
)
from pfedgp_core.wire.replies import RIDING, RIDING_ERROR
from pfedgp_core.words import cut

__all__ = ["REFUSED", "Admitted", "SiteGate"]

REFUSED = PolicyError.__name__  # all that the server learns of a refusal
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Admitted:
    """A request that was taken up.

    Attributes
    ----------
    kind : str
        Kind of message.
    policy : bool
        Whether the site has a policy.
    settings : Settings or None
        As the server sent them; None where the message has none.
    vector : float32 array [P] or None
        What the server sent.
    """

    kind: str
    policy: bool
    settings: Settings | None = None
    vector: np.ndarray | None = None


def _fails_closed(check: Callable[P, T]) -> Callable[P, T]:
    """Whatever a check raises is a refusal, and is kept for the site's operator."""

    @functools.wraps(check)
    def closed(*args: P.args, **kwargs: P.kwargs) -> T:
        gate, what = args[0], args[1]
        assert isinstance(gate, SiteGate)
        kind = what.kind if isinstance(what, Admitted) else what.metadata.message_type  # type: ignore[attr-defined]
        try:
            return check(*args, **kwargs)
        except PolicyError as error:
            refusal = error
        except PFedGPError as error:
            refusal = PolicyError(f"The request is refused: {error}")
        except Exception as error:  # noqa: BLE001 (what cannot be checked does not pass)
            refusal = PolicyError(f"What cannot be checked is refused ({type(error).__name__}: {cut(error, 200)}).")
        note_refusal(gate.state, kind, str(refusal))
        raise refusal

    return closed


class SiteGate:
    """Asks the policy in a site's state folder.

    Parameters
    ----------
    state : Path
    now : callable
        The site's own time.
    """

    def __init__(self, state: Path, now: Callable[[], datetime] = datetime.now) -> None:
        self.state, self._now = state, now

    @property
    def policy_exists(self) -> bool:
        """Whether the site has a policy, also one that cannot be read."""
        try:
            return read_policy(self.state) is not None
        except PolicyError:
            return True

    @_fails_closed
    def admit(self, message: Message, run: str) -> Admitted:
        """Take up a request, in which the site's own noise takes the place of a run's that is less.

        Parameters
        ----------
        message : Message
            Changed in place.
        run : str
            Flower's number of the run.

        Raises
        ------
        PolicyError
            The policy forbids it, or cannot be read.
        """
        kind, policy = message.metadata.message_type, read_policy(self.state)
        if policy is None:
            return Admitted(kind, policy=False)
        if kind == NOTICE:
            return Admitted(kind, policy=True)
        requests.require_hours(policy, self._now())
        config = message.content.config_records[CONFIG]
        if kind == ONBOARD:
            _require_publication(policy, parse_object(str(config[MODEL])))
            return Admitted(kind, policy=True)
        if kind not in (HELLO, TRAIN, EVALUATE):
            raise PolicyError(f"A message of the kind {cut(repr(kind), 40)} is none that a site with a policy answers.")
        settings = Settings.from_run_config(parse_object(str(config[SETTINGS])))
        requests.require_run(policy, settings, Runs.read(self.state), run)
        if kind == TRAIN:
            _require_round(settings, config[ROUND])
            requests.require_budget(policy, settings, Ledger.read(self.state))
        elif kind == EVALUATE:
            requests.require_evaluation(policy, settings, Ledger.read(self.state))
        effective = requests.effective_settings(policy, settings)
        if config.get(CLASSES) and effective.dp_noise and not settings.dp_noise:
            raise PolicyError(
                "This site adds noise to its updates, and the run sends a part of the model alone: it has to set "
                "classes = 'all', or dp-noise."
            )
        config[SETTINGS] = json.dumps(effective.to_run_config())
        return Admitted(kind, True, settings, vector_in(message.content) if kind == TRAIN else None)

    @_fails_closed
    def release(self, admitted: Admitted, reply: Message) -> None:
        """Let a reply leave, without the numbers that the policy keeps back; an update is booked before.

        Parameters
        ----------
        admitted : Admitted
            The request.
        reply : Message
            Changed in place.

        Raises
        ------
        PolicyError
            The policy forbids it, or cannot be read: nothing of the reply may leave.
        """
        policy = read_policy(self.state)
        if policy is None and not admitted.policy:
            return
        if policy is None:
            raise PolicyError("The policy was removed while the request was answered: nothing leaves.")
        if reply.has_error():
            if not str(reply.error.reason or "error").isidentifier() or len(str(reply.error.reason)) > 60:
                raise PolicyError("The error holds more than the name of its kind: nothing leaves.")
            return
        if admitted.kind != NOTICE:
            requests.require_hours(policy, self._now())
        check_parts(admitted.kind, reply.content)
        if admitted.kind == HELLO:
            config = reply.content.config_records[CONFIG]
            hello = Hello.from_wire(*unpack(config))
            _require_samples(policy, hello.n_train, hello.n_validation, hello.n_test)
            if hello.summary:
                asked = admitted.settings is not None and admitted.settings.column_rules_from == FEDERATED
                config["hello"] = greeting_that_leaves(policy, hello, asked).to_wire()[0]["hello"]
        elif admitted.kind == ONBOARD:
            about = parse_object(str(reply.content.config_records[CONFIG][ONBOARDED]))
            _require_samples(policy, about["samples"])
        elif admitted.kind == EVALUATE:
            config = reply.content.config_records[CONFIG]
            assert admitted.settings is not None  # of every request to evaluate
            config[METRICS] = json.dumps(self._evaluation(policy, admitted.settings, unpack(config)[1]))
        elif admitted.kind == TRAIN:
            self._release_update(policy, admitted, reply)

    def _evaluation(self, policy: SitePolicy, settings: Settings, metrics: dict[str, Any]) -> dict[str, Any]:
        """What of an evaluation may leave; it is booked."""
        leaving, ledger = evaluation_that_leaves(policy, metrics), Ledger.read(self.state)
        requests.require_evaluation(policy, settings, ledger)
        ledger.book_evaluation(run_hash(settings))
        return leaving

    def _release_update(self, policy: SitePolicy, admitted: Admitted, reply: Message) -> None:
        settings, config = admitted.settings, reply.content.config_records[CONFIG]
        assert settings is not None  # of every request to train
        metrics = unpack(config)[1]
        riding = {key.removeprefix(RIDING): value for key, value in metrics.items() if key.startswith(RIDING)}
        own = {key: value for key, value in metrics.items() if not key.startswith(RIDING)}
        _require_samples(policy, own["n_train"])
        kept = training_that_leaves(policy, own)
        if riding:
            try:
                kept |= {RIDING + key: value for key, value in self._evaluation(policy, settings, riding).items()}
            except PolicyError as error:
                note_refusal(self.state, EVALUATE, str(error))
                for key in [key for key in config if key.startswith(RIDING)]:
                    del config[key]
                config[RIDING_ERROR] = REFUSED
        config[METRICS] = json.dumps(kept)
        leaving, is_change = leaving_change(reply.content, settings.update_encoding, admitted.vector)
        if leaving is None:
            return
        requests.require_norm(policy, settings, admitted.vector, leaving, is_change)
        ledger = Ledger.read(self.state)
        requests.require_budget(policy, settings, ledger)
        ledger.book(run_hash(settings), requests.effective_settings(policy, settings).dp_noise)


def _require_publication(policy: SitePolicy, about: dict[str, Any]) -> None:
    """Refuse a published model of another method or network, and any where the policy takes none."""
    if not policy.publications:
        raise PolicyError("The policy takes no published model: set publications = true to take them.")
    settings = about.get("settings")
    named = settings if isinstance(settings, dict) else {}
    for kind, allowed in (("method", policy.methods), ("network", policy.networks)):
        if allowed and named.get(kind) not in allowed:
            raise PolicyError(f"The policy has no {kind} {cut(repr(named.get(kind)), 60)} of a published model.")


def _require_round(settings: Settings, number: Any) -> None:
    if type(number) is not int or not 1 <= number <= settings.rounds:
        raise PolicyError(f"Round {cut(repr(number), 40)} is none of the {settings.rounds} of the run.")


def _require_samples(policy: SitePolicy, n_train: int, *others: int) -> None:
    """Refuse to speak of fewer samples than the policy's least, or of a part below its floor."""
    if n_train < policy.min_samples:
        raise PolicyError(f"There are {n_train} training samples, and min-samples is {policy.min_samples}.")
    if small := [n for n in (n_train, *others) if 0 < n < policy.min_cell]:
        raise PolicyError(f"A part of the data has {small[0]} samples, and min-cell is {policy.min_cell}.")
