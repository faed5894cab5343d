"""Local: pFedGP by each client alone, trained once, whatever the round."""

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.methods.base import Upload
from pfedgp_core.methods.make import make_method
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import PERSONAL

SHAPE, CLASSES, EPOCHS = (6,), 4, 5
CONFIG = {"network": "mlp", "feature-dim": 8, "local.epochs": EPOCHS}


def settings_of(method: str, **more: object) -> Settings:
    return Settings.from_run_config(CONFIG | {"method": method} | more)  # type: ignore[operator]


def split(seed: int, n: int = 16) -> TensorSplit:
    labels = torch.arange(n) % 2
    inputs = torch.randn(n, *SHAPE, generator=torch.Generator().manual_seed(seed)) + 2.0 * labels[:, None]
    return TensorSplit(inputs, labels)


def stream(t: int) -> Stream:
    return Stream(0, "train", t, "a")


def test_one_client_in_every_round_without_momentum_is_local_to_the_bit() -> None:
    """A federation of one client has a fresh optimiser in each round, which without momentum makes no difference."""
    federated = make_method(settings_of("pfedgp", momentum=0.0), SHAPE, CLASSES)
    state = federated.initial()
    for t in range(1, EPOCHS + 1):
        update = federated.update(state, None, split(0), stream(t))
        state = federated.step(state, [Upload("a", update.upload, state, 16)])
    alone = make_method(settings_of("local", momentum=0.0), SHAPE, CLASSES)
    kept = alone.update(alone.initial(), None, split(0), stream(3)).keep
    assert kept.tobytes() == state.tobytes()


def test_momentum_goes_on_over_the_epochs() -> None:
    with_it, without = (
        method.update(method.initial(), None, split(0), stream(1)).keep
        for method in (make_method(settings_of("local", momentum=m), SHAPE, CLASSES) for m in (0.9, 0.0))
    )
    start = make_method(settings_of("pfedgp"), SHAPE, CLASSES).initial()
    assert np.linalg.norm(with_it - start) > 1.5 * np.linalg.norm(without - start)


def test_the_round_in_which_it_is_sampled_does_not_matter() -> None:
    method = make_method(settings_of("local"), SHAPE, CLASSES)
    first, later = (method.update(method.initial(), None, split(0), stream(t)).keep for t in (1, 7))
    assert first.tobytes() == later.tobytes()


def test_later_visits_change_nothing() -> None:
    method = make_method(settings_of("local"), SHAPE, CLASSES)
    kept = method.update(method.initial(), None, split(0), stream(1)).keep
    again = method.update(method.initial(), kept, split(0), stream(2))
    assert again.keep is None
    assert again.result.status == PERSONAL
    assert again.result.steps == 0


def test_a_client_that_was_never_sampled_predicts_as_one_that_was() -> None:
    method = make_method(settings_of("local"), SHAPE, CLASSES)
    kept = method.update(method.initial(), None, split(0), stream(1)).keep
    data = ClientData("a", ("0", "1", "2", "3"), split(0), split(1), split(2), (0.0,) * 6, (1.0,) * 6)
    first, second = (
        method.evaluate(method.initial(), state, data, "test", Stream(0, "evaluate", "test", 1, "a"), left_out=True)
        for state in (kept, None)
    )
    assert first.sums.to_dict() == second.sums.to_dict()
    # Its own data trained the network, sampled or not.
    assert second.evidence is not None
    assert second.evidence.left_out.n == 0
    assert second.evidence.validation.n == 16
