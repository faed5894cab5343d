"""Methods whose clients keep something, or whose server holds something for each: limits and independence."""

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.base import Upload
from pfedgp_core.methods.make import find_method, make_method
from pfedgp_core.methods.tuning import train_head
from pfedgp_core.numerics.streams import Stream
from tests.core.methods.small_federation import CLASSES, data, method_of, rounds, same, settings_of, updated

HEAD = 8 * CLASSES + CLASSES


def final(method: str, count: int = 2, **more: object) -> np.ndarray:
    return rounds(method_of(method, **more), ["a", "b"], count)[0]


def kept(method: str, client: str = "a", **more: object) -> np.ndarray | None:
    return rounds(method_of(method, **more), ["a", "b"], 2)[1][client]


# LG-FedAvg


def test_lg_of_all_layers_is_fedavg_to_the_bit() -> None:
    assert same(final("lg-fedavg", **{"lg-fedavg.shared-layers": 1000}), final("fedavg"))


def test_lg_of_no_layer_is_the_network_alone_to_the_bit() -> None:
    none = {"lg-fedavg.shared-layers": 0}
    assert final("lg-fedavg", **none).size == 0
    assert same(kept("lg-fedavg", **none), kept("local-network"))


def test_lg_and_fedper_are_one_update_with_complementary_lists() -> None:
    base, head = (updated(method_of("fedper")), updated(method_of("lg-fedavg", **{"lg-fedavg.shared-layers": 1})))
    assert same(base.keep, head.upload)
    assert same(base.upload, head.keep)


def test_the_paper_shares_3400_or_44056_bytes() -> None:
    sizes = []
    for layers in (1, 2):
        settings = Settings.from_run_config({"method": "lg-fedavg", "lg-fedavg.shared-layers": layers})
        sizes.append(4 * make_method(settings, (3, 32, 32), 10).upload_size)
    assert sizes == [3_400, 44_056]


def test_first_rounds_of_fedavg_are_fedavg_to_the_bit() -> None:
    assert same(final("lg-fedavg", **{"lg-fedavg.fedavg-rounds": 2})[:-1], final("fedavg"))


def test_after_the_rounds_of_fedavg_only_the_shared_layers_move() -> None:
    method = method_of("lg-fedavg", **{"lg-fedavg.fedavg-rounds": 1, "lg-fedavg.shared-layers": 1})
    (one, _), (two, own) = (rounds(method, ["a", "b"], count) for count in (1, 2))
    assert same(one[: -HEAD - 1], two[: -HEAD - 1])
    assert not same(one[-HEAD - 1 : -1], two[-HEAD - 1 : -1])
    assert own["a"].size == one.size - HEAD - 1


# FedU


def test_fedu_without_a_pull_is_the_network_alone_to_the_bit() -> None:
    method = method_of("fedu", **{"fedu.eta": 0.0})
    state, _ = rounds(method, ["a", "b"], 2)
    assert same(method.download(state, "b"), kept("local-network", "b"))


def test_the_pull_of_fedu_conserves_the_mean_of_the_round() -> None:
    method = method_of("fedu", **{"fedu.eta": 1.0})
    state = method.initial()
    uploads = [Upload(c, np.full(method.upload_size, v, np.float32), state, 12) for c, v in (("a", 0.0), ("b", 1.0))]
    following = method.step(state, uploads)
    first, second = (method.download(following, client) for client in "ab")
    np.testing.assert_allclose(first + second, 1.0, atol=1e-6)
    np.testing.assert_allclose(first, 0.05 * 7 * 0.5, rtol=1e-5)  # learning rate, steps and weight


def test_an_absent_client_s_model_stays_to_the_bit() -> None:
    method = method_of("fedu")
    state, _ = rounds(method, ["a", "b", "c"], 1)
    following, _ = rounds(method, ["a", "b"], 1, 2, state)
    assert same(method.download(following, "c"), method.download(state, "c"))
    assert not same(method.download(following, "a"), method.download(state, "a"))


def test_a_client_that_was_never_sampled_has_the_initial_model() -> None:
    assert same(method_of("fedu").download(final("fedu"), "z"), method_of("fedavg").initial())


def test_a_pull_that_swaps_models_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"fedu\.eta = 3 moves each of 5 models 2\.1 times .*: give less than 1\.43"):
        find_method(settings_of("fedu", **{"fedu.eta": 3.0}))


# pFedHN


def test_a_network_comes_from_the_client_s_own_embedding() -> None:
    method = method_of("pfedhn")
    state = method.initial()
    assert not same(method.download(state, "a"), method.download(state, "b"))
    assert same(method.download(state, "a"), method.download(state, "a"))


def test_no_inner_step_and_no_decay_leave_the_server_as_it_was() -> None:
    method = method_of("pfedhn", **{"pfedhn.server-decay": 0.0})
    state = method.initial()
    received = method.download(state, "a")
    following = method.step(state, [Upload("a", received, received, 12)])
    assert same(method.download(following, "a"), received)
    assert same(method.download(following, "z"), method.download(state, "z"))


def test_clients_of_one_round_are_visited_one_after_another() -> None:
    method, alone = method_of("pfedhn"), method_of("pfedhn")
    state = method.initial()
    received = {c: method.download(state, c) for c in "ab"}
    uploads = [Upload(c, received[c] - np.float32(0.1), received[c], 12) for c in "ab"]
    one_by_one = alone.step(alone.step(state, uploads[:1]), uploads[1:])
    together = method.step(state, uploads)
    np.testing.assert_allclose(method.download(together, "a"), alone.download(one_by_one, "a"), atol=1e-7)


def test_a_client_that_is_sampled_late_has_the_embedding_of_one_that_was_known_and_absent() -> None:
    late, early = method_of("pfedhn"), method_of("pfedhn")
    first = rounds(late, ["a"], 3)[0]
    known = early.initial()
    early._row(*reversed(early._parts(known)[2:]), "z")  # the table and the row of nobody
    second = rounds(early, ["a"], 3, state=known)[0]
    np.testing.assert_allclose(late.download(first, "z"), early.download(second, "z"), atol=1e-6)
    assert not np.array_equal(late.download(first, "z"), late.download(late.initial(), "z"))


@pytest.mark.parametrize(("layers", "size"), [(0, None), (1, 2 * HEAD)])
def test_the_variant_pc_keeps_the_head_and_its_momentum(layers: int, size: int | None) -> None:
    own = kept("pfedhn", **{"pfedhn.personal-layers": layers})
    assert (own is None) if size is None else (own.size == size)


def test_the_momentum_of_the_own_head_goes_on() -> None:
    method = method_of("pfedhn")
    first = updated(method)
    calm = first.keep.copy()
    calm[HEAD:] = 0
    received = method.download(method.initial(), "a")
    assert not same(updated(method, received, first.keep, 2).keep, updated(method, received, calm, 2).keep)


def test_a_server_without_room_says_so() -> None:
    with pytest.raises(ConfigError, match=r"More than pfedhn\.clients = 1 clients take part"):
        final("pfedhn", **{"pfedhn.clients": 1})


# FedRep, FedBABU, Ditto


def test_fedrep_trains_its_head_on_the_base_that_came() -> None:
    method = method_of("fedrep", **{"fedrep.head-epochs": 3})
    kept = updated(method).keep
    method.split.load(method.initial(), method._start_own)
    batches = mini_batches(12, 5, 0, 3, Stream(0, "train", 1, "a", "head"))
    train_head(method.network, data(0), batches, method.settings, UpdateResult())
    assert same(kept, method.split.vectors()[1])


def test_fedrep_without_passes_of_the_head_leaves_it() -> None:
    update = updated(method_of("fedrep", **{"fedrep.head-epochs": 0}))
    assert same(update.keep, method_of("fedrep")._start_own)
    assert not same(update.upload, method_of("fedrep").initial())


def test_fedrep_does_not_train_the_head_with_the_base() -> None:
    short, long = (updated(method_of("fedrep", **{"local-steps": steps})) for steps in (1, 9))
    assert same(short.keep, long.keep)


def test_fedbabu_s_head_is_the_initial_one() -> None:
    method = method_of("fedbabu")
    assert updated(method).keep is None
    assert same(method.split.vectors()[1], method._start_own)
    assert not same(method.split.vectors()[0], method.initial())


def test_fedbabu_without_tuning_predicts_with_the_initial_head() -> None:
    method = method_of("fedbabu", **{"fedbabu.epochs": 0})
    state, _ = rounds(method, ["a", "b"], 1)
    method.personal(state, None, data(0), Stream(0, "evaluate", "a"))
    assert same(method.split.vectors()[1], method._start_own)
    assert same(method.split.vectors()[0], state)


def test_ditto_s_server_is_that_of_fedavg_to_the_bit() -> None:
    assert same(final("ditto"), final("fedavg"))


def test_ditto_without_a_pull_is_the_network_alone_to_the_bit() -> None:
    assert same(kept("ditto", **{"ditto.lambda": 0.0}), kept("local-network"))


def test_a_strong_pull_of_ditto_keeps_the_personal_network_near() -> None:
    slow = {"learning-rate": 0.01}
    shared = final("fedavg", 1, **slow)  # what both clients received at last
    far, near = (np.linalg.norm(kept("ditto", **slow, **{"ditto.lambda": pull}) - shared) for pull in (0.0, 20.0))
    assert near < 0.5 * far


@pytest.mark.parametrize("method", ["lg-fedavg", "pfedhn", "fedrep", "ditto"])
def test_what_a_client_keeps_does_not_depend_on_another_s_data(method: str) -> None:
    made = method_of(method)
    first = updated(made).keep
    made.update(made.download(made.initial(), "b"), None, data(5), Stream(0, "train", 1, "b"))
    assert same(updated(made).keep, first)
