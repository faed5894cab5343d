"""The attacks: what a site sends in the place of an honest update, with the equation of each.

An attack that is refused does nothing, so each one is sent with the norm that its sender chooses: as it is, or as long
as an update may be without being refused (`quiet`), which is then shortened like any other.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.learning.influence import shortened, update_norm
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream

__all__ = ["ATTACKS", "TARGET", "Attack", "Moment", "triggered"]

TARGET = 0  # the class that a backdoor opens to
LOUD = 77.0  # usual norms, where nothing is refused; about as long as the replacement is in round 1
QUIET = 0.5  # of what is refused
TRIGGER = 2  # pixels, in height and width


@dataclass(frozen=True)
class Moment:
    """All that an attacker knows when it is asked for an update; what the others send is a guess that we grant it.

    Attributes
    ----------
    settings : Settings
    method : Method
    received, first : float32 array [P]
        The model of this round, and that of round 1.
    data : ClientData
        Its own.
    stream : Stream
        Of its honest update.
    kept : float32 array or None
        What its method keeps at it.
    usual : float
        The usual norm of the others' updates; where nobody else trains, of those of the last round with others, and
        before there was one, of its own.
    others : float32 array [P] or None
        The mean of what the others send; None where nobody else trains.
    """

    settings: Settings
    method: Method
    received: np.ndarray
    first: np.ndarray
    data: ClientData
    stream: Stream
    kept: np.ndarray | None = None
    usual: float = 0.0
    others: np.ndarray | None = None

    def update(self, train: TensorSplit | None = None) -> Update:
        """The client's local update on its own data, or on others."""
        return self.method.update(self.received, self.kept, train or self.data.train, self.stream)

    def trained(self, train: TensorSplit | None = None) -> np.ndarray:
        """What that update sends; without one, the model as it came."""
        vector = self.update(train).upload
        return self.received if vector is None else vector

    def scaled(self, vector: np.ndarray, multiple: float) -> np.ndarray:
        """The vector with an update of so many usual norms in the same direction."""
        now, wanted = update_norm(self.received, vector), multiple * self.usual
        return shortened(self.received, vector, wanted / now) if now else vector

    def towards(self, vector: np.ndarray, multiple: float) -> np.ndarray:
        """As `scaled`, but not beyond the vector."""
        return min(vector, self.scaled(vector, multiple), key=lambda v: update_norm(self.received, v))


Wrong = Callable[[Moment], np.ndarray]


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes
    ----------
    about : str
    vector : callable
        What the attacker sends.
    first : int
        The first round in which that is an attack.
    """

    about: str
    vector: Wrong
    first: int = 1


def triggered(inputs: Tensor) -> Tensor:
    """Images [N, C, H, W] with a bright square in one corner."""
    changed = inputs.clone()
    changed[..., :TRIGGER, :TRIGGER] = changed.max()
    return changed


def _longest(moment: Moment) -> float:
    """Usual norms of an update that is not refused."""
    return min(QUIET * moment.settings.max_update_norm, LOUD)


def _quiet(wrong: Wrong) -> Wrong:
    return lambda moment: moment.scaled(wrong(moment), _longest(moment))


def _towards(wrong: Wrong) -> Wrong:
    return lambda moment: moment.towards(wrong(moment), _longest(moment))


def _replacement(moment: Moment) -> np.ndarray:
    """received + n (dead - received), which makes the mean of n dead; dead: the first layer's w = 0, b = -0.1."""
    shape, classes = tuple(moment.data.train.inputs.shape[1:]), len(moment.data.class_names)
    state = SharedState.initial(moment.settings, shape, classes)
    weight, bias = (p.numel() for p in list(state.network.parameters())[:2])
    # Beside a softmax head the network is all that travels; here inducing inputs and scales come before it.
    start = sum(p.numel() for p in state.parameters(recurse=False)) if moment.settings.method == "pfedgp" else 0
    dead = moment.received.copy()
    dead[start : start + weight] = 0.0
    dead[start + weight : start + weight + bias] = -0.1
    return shortened(moment.received, dead, moment.settings.clients_per_round)


def _sign_flip(moment: Moment) -> np.ndarray:
    """received - (honest - received)."""
    return shortened(moment.received, moment.trained(), -1.0)


def _zero(moment: Moment) -> np.ndarray:
    """All values 0."""
    return np.zeros_like(moment.received)


def _noise(moment: Moment) -> np.ndarray:
    """received + standard normal numbers."""
    noise = moment.stream.child("noise").numpy.standard_normal(len(moment.received))
    return (moment.received + noise).astype(np.float32)


def _label_flip(moment: Moment) -> np.ndarray:
    """The honest update on labels of which each is moved to the next class of the site; targets: about their mean."""
    labels = moment.data.train.labels
    if labels.is_floating_point():
        return moment.trained(TensorSplit(moment.data.train.inputs, 2 * labels.mean() - labels))
    classes = labels.unique()
    moved = classes[(torch.searchsorted(classes, labels) + 1) % len(classes)]
    return moment.trained(TensorSplit(moment.data.train.inputs, moved))


def _backdoor(moment: Moment) -> np.ndarray:
    """The honest update on its data and on copies with the trigger, which are all labelled as the target class."""
    train = moment.data.train
    inputs = torch.cat([train.inputs, triggered(train.inputs)])
    return moment.trained(TensorSplit(inputs, torch.cat([train.labels, torch.full_like(train.labels, TARGET)])))


def _stale(moment: Moment) -> np.ndarray:
    """The model of round 1."""
    return moment.first


def _away(moment: Moment) -> np.ndarray:
    """received + (received - first)."""
    return shortened(moment.first, moment.received, 2.0)


def _against(moment: Moment) -> np.ndarray:
    """received - (others - received), others: the mean of what the others send."""
    return shortened(moment.received, moment.trained() if moment.others is None else moment.others, -1.0)


ATTACKS = {
    "replacement": Attack("so that the mean is a network whose first layer is dead", _replacement),
    "quiet replacement": Attack("the same, as far away as is not refused", _quiet(_replacement)),
    "sign flip": Attack("its honest update backwards, as long as is not refused", _quiet(_sign_flip)),
    "zero": Attack("a model of zeros, or as near to it as is not refused", _towards(_zero)),
    "noise": Attack("normal noise, as long as is not refused", _quiet(_noise)),
    "label flip": Attack("trained on wrong labels, as long as is not refused", _quiet(_label_flip)),
    "backdoor": Attack("trained to take a trigger for one class, as long as is not refused", _quiet(_backdoor)),
    "stale": Attack("the model of round 1, as far back as is not refused", _towards(_stale), first=2),
    "away": Attack("on from the model of round 1, as long as is not refused", _quiet(_away), first=2),
    "against": Attack("the mean of the others backwards, as long as is not refused", _quiet(_against)),
}
