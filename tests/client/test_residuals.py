"""Error feedback: what was sent sums to what was trained, but for one rounding; nothing counts that was refused."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Context, RecordDict

from client.messages import Request
from client.residuals import outgoing
from pfedgp_core.config import Settings
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.wire.encodings import Encoded, decode_update

SIZE = 300
SETTINGS = Settings(update_encoding="int8", method="fedavg")
METHOD = FedAvg(SETTINGS, (1, 8, 8), 2)
RECEIVED = np.zeros(SIZE, np.float32)
TRAINED = np.linspace(1e-5, 1.0, SIZE, dtype=np.float32) ** 3  # most of it below one step of int8


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(1, 1, {"state": str(tmp_path)}, RecordDict(), {})


def sent(context: Context, round: int, accepted: int, updated: np.ndarray | None = TRAINED) -> np.ndarray | None:
    """What the server makes of an update of a round in which it named an accepted one."""
    request = Request(SETTINGS, round, "", RECEIVED, None, "run-1", accepted)
    encoded = outgoing(request, METHOD, context, "ward-1", updated, Counter())
    assert encoded is None or isinstance(encoded, Encoded)
    return None if encoded is None else decode_update(encoded.data, "int8", SIZE)


def test_the_sum_of_what_was_sent_is_off_by_one_rounding(context: Context) -> None:
    total = np.zeros(SIZE, np.float64)
    for t in range(1, 21):
        update = sent(context, t, t - 1)
        assert update is not None
        total += update
    assert np.abs(total - 20 * TRAINED.astype(np.float64)).max() < 1.5 / 127


def test_without_an_accepted_round_each_update_is_the_same(context: Context) -> None:
    first, second = sent(context, 1, 0), sent(context, 2, 0)
    assert first is not None
    assert second is not None
    assert first.tobytes() == second.tobytes()


def test_what_a_refused_update_left_out_does_not_count(context: Context) -> None:
    sent(context, 1, 0)
    refused, again = sent(context, 2, 1), sent(context, 3, 1)
    assert refused is not None
    assert again is not None
    assert refused.tobytes() == again.tobytes()


def test_a_round_without_an_update_keeps_what_was_left_out(context: Context) -> None:
    sent(context, 1, 0)
    wanted = sent(context, 9, 1)
    assert sent(context, 2, 1, None) is None
    got = sent(context, 3, 2)
    assert wanted is not None
    assert got is not None
    assert got.tobytes() == wanted.tobytes()


def test_a_state_that_is_gone_is_counted_and_begun_anew(context: Context) -> None:
    counters: Counter[str] = Counter()
    request = Request(SETTINGS, 5, "", RECEIVED, None, "run-1", 4)
    outgoing(request, METHOD, context, "ward-1", TRAINED, counters)
    assert counters == {"residual_lost": 1}
