"""Rules for the topics fedavg, fedper and lgfedavg: one round of a network whose layers are shared or personal."""

from typing import Any

from pfedgp.verification.cases.federated_round import FederatedRound
from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.errors import DataError

__all__ = ["LAYERED_RULES"]


def _round(q: Question) -> FederatedRound:
    return FederatedRound(q.inputs, q.workspace.dtype)


def _client(q: Question, played: FederatedRound, prefix: str) -> str:
    """The client that an assert names after a prefix, letter by letter."""
    name = q.check.name.removeprefix(prefix)
    if name not in played.clients:
        raise NotUnderstood(f"{name!r} is none of the clients")
    return name


def _losses(q: Question) -> list[float | None]:
    played = _round(q)
    return [played.loss_before(name) for name in played.clients]


def _update(q: Question) -> dict[str, Any]:
    played = _round(q)
    name = _client(q, played, "client_update_")
    update = played.update(name)
    shared, own = played.named(
        played.received if update.upload is None else update.upload,
        played.start[name] if update.keep is None else update.keep,
    )
    return {**shared, **own}


def _server(q: Question) -> dict[str, Any]:
    played = _round(q)
    vector = played.server("samples" if "weighted" in q.head else "uniform")
    return dict(played.named(vector, next(iter(played.start.values())))[0])


def _personal(q: Question) -> dict[str, Any]:
    """The own layers after the round and after everybody's predictions; those of an absent client to the bit."""
    played = _round(q)
    name = _client(q, played, "personal_")
    for each in played.clients:
        played.first_probabilities(each)
    after = played.named(played.server("uniform"), played.kept(name))[1]
    if name not in played.participants and any(not after[key].equal(t) for key, t in played.personal[name].items()):
        raise DataError(f"The layers of client {name!r} changed, which takes no part; leave them to the bit.")
    return dict(after)


def _probabilities(q: Question) -> list[Any]:
    played = _round(q)
    return [played.first_probabilities(name) for name in played.clients]


LAYERED_RULES = (
    Rule(r"^client losses before$", _losses),
    Rule(r"^client update ", _update),
    Rule(r"^server (shared )?(uniform|weighted)$", _server),
    Rule(r"^personal ", _personal),
    Rule(r"^probabilities first row$", _probabilities),
)
