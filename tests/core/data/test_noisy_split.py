"""A client's noisy images: bytes, by its own generators, kept on disk."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.corruptions.noise_models import NoiseModel, NoisePlan
from pfedgp_core.data.datasets import client_data, client_splits, load_dataset
from pfedgp_core.data.noisy_split import noisy_splits
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.samples import Split
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.errors import ConfigError

NOISY = Settings(noise="imagenet-c")
PLAN = NoisePlan("imagenet-c", 0, (NoiseModel("gaussian_noise", 4), NoiseModel("snow", 3)))
ROWS = {"train": np.arange(5), "test": np.arange(3)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pfedgp"


def images(n: int = 5) -> dict[str, Split]:
    rng = np.random.default_rng(0)
    of = {"train": n, "test": 3}
    return {s: Split(rng.integers(0, 256, (k, 3, 8, 8), np.uint8), np.arange(k)) for s, k in of.items()}


def bytes_of(plan: NoisePlan = PLAN, client: int = 0) -> bytes:
    return b"".join(split.inputs.tobytes() for split in noisy_splits(images(), ROWS, plan, client).values())


def test_images_are_other_bytes_of_the_same_shape() -> None:
    made, clean = noisy_splits(images(), ROWS, PLAN, 0)["train"].inputs, images()["train"].inputs
    assert (made.dtype, made.shape) == (np.uint8, clean.shape)
    assert not np.array_equal(made, clean)


def test_labels_stay() -> None:
    assert np.array_equal(noisy_splits(images(), ROWS, PLAN, 0)["train"].labels, images()["train"].labels)


@pytest.mark.parametrize(
    "other",
    [
        PLAN._replace(seed=1),
        PLAN._replace(parameters="cifar-10-c"),
        PLAN._replace(models=(NoiseModel("gaussian_noise", 5), PLAN.models[1])),
        PLAN._replace(models=(NoiseModel("fog", 4), PLAN.models[1])),
    ],
    ids=["seed", "parameters", "severity", "corruption"],
)
def test_every_part_of_the_plan_counts(other: NoisePlan) -> None:
    assert bytes_of() != bytes_of(other)


def test_two_clients_with_one_model_have_noise_of_their_own() -> None:
    twins = PLAN._replace(models=(PLAN.models[0],) * 2)
    assert bytes_of(twins, 0) != bytes_of(twins, 1)


def test_equal_images_of_a_client_have_noise_of_their_own() -> None:
    equal = {"train": Split(np.full((2, 3, 8, 8), 128, np.uint8), np.arange(2))}
    first, second = noisy_splits(equal, {"train": np.arange(2)}, PLAN, 0)["train"].inputs
    assert not np.array_equal(first, second)


def test_an_image_s_noise_does_not_depend_on_what_else_the_client_holds() -> None:
    alone = {"train": Split(images()["train"].inputs[3:4], np.zeros(1, np.int64))}
    (one,) = noisy_splits(alone, {"train": np.array([3])}, PLAN, 0)["train"].inputs
    assert np.array_equal(one, noisy_splits(images(), ROWS, PLAN, 0)["train"].inputs[3])


def test_a_second_call_reads_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    first = bytes_of()
    monkeypatch.setattr("pfedgp_core.data.corruptions.corrupt.corrupted", None)  # a call would fail
    assert bytes_of() == first


def test_other_images_are_not_taken_from_the_disk() -> None:
    flat = PLAN._replace(models=(NoiseModel("contrast", 5),) * 2)
    bytes_of(flat)
    changed = images()
    changed["train"].inputs[0] = 0
    assert not noisy_splits(changed, ROWS, flat, 0)["train"].inputs[0].any()


def test_the_disk_holds_bytes(cache: Path) -> None:
    bytes_of()
    (entry,) = cache.glob("noise-*")
    assert {path.name: np.load(path).dtype for path in entry.iterdir()} == dict.fromkeys(
        ("train.npy", "test.npy"), np.dtype(np.uint8)
    )


def test_the_partition_keeps_who_has_which_model() -> None:
    partition = simulated_partition(NOISY)
    assert partition.noise is not None
    assert len(set(partition.noise.models)) == 20
    assert Partition.from_json(partition.to_json()).noise == partition.noise


def test_without_noise_the_partition_is_as_before() -> None:
    clean, noisy = simulated_partition(Settings()), simulated_partition(NOISY)
    assert "noise" not in clean.to_json()
    assert clean.hash != noisy.hash
    assert all(np.array_equal(a, b) for a, b in zip(clean.indices["train"], noisy.indices["train"], strict=True))


def test_train_validation_and_test_have_the_client_s_noise() -> None:
    digits, clean, noisy = load_dataset("digits"), simulated_partition(Settings()), simulated_partition(NOISY)
    for client in (0, 7):
        before, after = client_splits(digits, clean, client), client_splits(digits, noisy, client)
        changed = {s for s in before if not np.array_equal(before[s].inputs, after[s].inputs)}
        assert changed == {"train", "validation", "test"}


def test_tensors_are_of_the_noisy_bytes() -> None:
    digits, noisy = load_dataset("digits"), simulated_partition(NOISY)
    tensors, split = client_data(digits, noisy, 2).train.inputs, client_splits(digits, noisy, 2)["train"]
    wanted = (split.inputs / 255.0 - digits.mean[0]) / digits.std[0]
    np.testing.assert_allclose(np.asarray(tensors[:]), wanted, rtol=1e-4, atol=1e-4)


def test_noise_of_vectors_is_refused() -> None:
    settings = Settings(noise="cifar-10-c", dataset="diabetes", task="regression")
    with pytest.raises(ConfigError, match=r"noise = 'cifar-10-c' is for images .*'diabetes' have shape 10: set noise"):
        simulated_partition(settings)
