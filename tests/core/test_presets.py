"""The paper's preset: what it says of methods, variants and data sets, and that what a user gives comes first."""

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.presets import preset_of, preset_settings
from pfedgp_core.registry import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_it_is_allowed_for_every_method(method: str) -> None:
    given = {"method": method, "clients": 50}
    settings = Settings.from_run_config(preset_settings("paper", given) | given)
    assert settings.clip_updates == 0


@pytest.mark.parametrize(
    ("variant", "dataset", "expected"),
    [
        ("full", "cifar10", (3, 0.05, 1.0)),
        ("full", "cifar100", (1, 0.05, 1.0)),
        ("ip-data", "cifar10", (1, 0.05, 2.0)),
        ("ip-data", "cinic10", (1, 0.05, 2.0)),
        ("ip-data", "cifar100", (1, 0.01, 1.0)),
        ("ip-compute", "cifar10", (1, 0.05, 1.0)),
        ("ip-compute", "cifar100", (3, 0.01, 1.0)),
    ],
)
def test_variants_train_as_in_the_authors_scripts(variant: str, dataset: str, expected: tuple[float, ...]) -> None:
    found = preset_settings("paper", {"variant": variant, "dataset": dataset})
    assert (found["local-epochs"], found["learning-rate"], found["loss-scale"]) == expected
    assert found["classes-per-client"] == {"cifar10": 2, "cifar100": 10, "cinic10": 4}[dataset]


def test_the_scripts_of_the_standard_setting_say_nothing_of_others() -> None:
    given = {"variant": "full", "dataset": "cifar10"}
    for other in ({"partition": "dirichlet"}, {"noise": "imagenet-c"}, {"method": "fedavg"}):
        assert preset_settings("paper", given | other)["local-epochs"] == 1


def test_local_trains_every_client_once() -> None:
    found = preset_settings("paper", {"method": "local", "clients": 50, "novel-clients": 10})
    assert (found["rounds"], found["clients-per-round"]) == (1, 40)


@pytest.mark.parametrize(
    ("method", "momentum"),
    [
        ("fedavg", 0.0),
        ("fedper", 0.0),
        ("knn-per", 0.0),
        ("pfedhn", 0.9),
        ("pfedgp", 0.9),
        ("lda", 0.9),
        ("local", 0.9),
    ],
)
def test_methods_with_a_softmax_head_train_by_plain_sgd(method: str, momentum: float) -> None:
    assert preset_settings("paper", {"method": method})["momentum"] == momentum


def test_no_name_is_no_preset() -> None:
    assert preset_settings("", {"method": "fedavg"}) == {}


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"preset = 'papr'.*did you mean 'paper'"):
        preset_settings("papr", {})


def test_a_shared_head_is_a_preset_that_goes_with_the_defaults() -> None:
    settings = Settings.from_run_config(preset_settings("shared-head", {}))
    assert (settings.gp.prior_mean, settings.objective, settings.gp.output_scale) == ("head", "softmax", 4.0)


def test_a_shared_head_under_a_method_without_gaussian_processes_is_refused() -> None:
    with pytest.raises(ConfigError, match="method = 'fedavg' has none: leave out one of the two"):
        preset_settings("shared-head", {"method": "fedavg"})
    assert preset_settings("shared-head", {"method": "whitened"})


def test_the_prior_mean_zero_is_a_preset_of_the_defaults() -> None:
    assert Settings.from_run_config(preset_settings("zero-mean", {})) == Settings()


def test_auto_is_one_of_the_two() -> None:
    assert preset_settings("auto", {}) == preset_settings("shared-head", {})
    assert preset_settings("auto", {"rounds": 59}) == preset_settings("zero-mean", {})


@pytest.mark.parametrize("given", [{}, {"rounds": 59}])
def test_what_auto_takes_for_a_server_s_sites_is_decided_in_the_same_place(given: dict[str, int]) -> None:
    simulated, deployed = preset_of("auto", given), preset_of("auto", given, deployed=True)
    assert simulated.settings == preset_settings("auto", given)
    assert simulated.note.startswith("Prior mean: ")
    assert deployed.settings == preset_settings("zero-mean", given)
    assert "one site could spoil" in deployed.note
    assert preset_of("shared-head", given, deployed=True) == (preset_settings("shared-head", given), "")
