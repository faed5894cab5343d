"""Settings: defaults, types, ranges, choices, and the errors that name key, value and remedy."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.config_text import describe, parse_assignment
from pfedgp_core.errors import ConfigError
from pfedgp_core.method_settings import method_fields

DEFAULTS = Settings().to_run_config()
NUMBERS = [key for key, value in DEFAULTS.items() if type(value) in (int, float)]
SWITCHES = [key for key, value in DEFAULTS.items() if type(value) is bool]
CHOICES = {
    ("gp." if owner is GPSettings else "") + f.name.replace("_", "-"): f.metadata["choices"]
    for owner in (Settings, GPSettings)
    for f in dataclasses.fields(owner)
    if f.metadata.get("choices")
}


def test_round_trip_of_the_defaults():
    assert Settings.from_run_config(DEFAULTS) == Settings() == Settings.from_run_config({})
    assert {type(value) for value in DEFAULTS.values()} <= {int, float, str, bool}


def test_keys_are_flat_and_kebab_case():
    assert DEFAULTS["local-epochs"] == 1
    assert DEFAULTS["gp.output-scale"] == 32.0
    assert not [key for key in DEFAULTS if "_" in key or key != key.lower()]
    assert "gp" not in DEFAULTS
    groups = len(dataclasses.fields(GPSettings)) + len(method_fields())
    assert len(DEFAULTS) == len(dataclasses.fields(Settings)) - 2 + groups


@given(
    rounds=st.integers(1, 10_000),
    rate=st.floats(1e-9, 1e3),
    jitter=st.floats(1e-8, 1.0),
    link=st.sampled_from(["arith", "chain-geo", "paper-explog"]),
    name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=10),
)
def test_round_trip_of_any_values(rounds, rate, jitter, link, name):
    settings = Settings(
        rounds=rounds, learning_rate=rate, data_root=name, gp=GPSettings(jitter=jitter, link=link, sweeps=rounds)
    )
    assert Settings.from_run_config(settings.to_run_config()) == settings


def test_partial_settings():
    settings = Settings.from_run_config({"rounds": 3, "gp.kernel": "matern52"})
    assert settings.rounds == 3
    assert settings.gp.kernel == "matern52"
    assert settings.replace(rounds=60, gp=GPSettings()) == Settings()


def test_replace_checks():
    assert Settings().replace(rounds=2).rounds == 2
    with pytest.raises(ConfigError, match="rounds = 0"):
        Settings().replace(rounds=0)


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().rounds = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().gp.jitter = 0.1


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("local-epoch", "did you mean 'local-epochs'"),
        ("local_epochs", "did you mean 'local-epochs'"),
        ("gp.kernal", "did you mean 'gp.kernel'"),
        ("kernel", "did you mean 'gp.kernel'"),
        ("learning_rate", "did you mean 'learning-rate'"),
        ("zzz", "the keys are: aggregation, "),
        ("gp", "the keys are: "),
    ],
)
def test_unknown_keys(key, hint):
    with pytest.raises(ConfigError, match=f"Unknown setting '{key}': {hint}"):
        Settings.from_run_config({key: 1})
    with pytest.raises(ConfigError, match=f"Unknown setting '{key}'"):
        parse_assignment(f"{key}=1")


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("rounds", "3", "an integer"),
        ("rounds", 3.0, "an integer"),
        ("rounds", True, "an integer"),
        ("learning-rate", "0.1", "a number"),
        ("learning-rate", True, "a number"),
        ("dataset", 3, "a text"),
        ("gp.kernel", 1, "a text"),
        ("gp.sweeps", 5.5, "an integer"),
    ],
)
def test_wrong_types(key, value, kind):
    with pytest.raises(ConfigError, match=f"{key} = {value!r} is not {kind}; the default is"):
        Settings.from_run_config({key: value})


def test_integers_pass_as_floats():
    settings = Settings.from_run_config({"learning-rate": 1, "gp.output-scale": 4})
    assert type(settings.learning_rate) is float
    assert type(settings.gp.output_scale) is float
    assert type(settings.to_run_config()["learning-rate"]) is float


@pytest.mark.parametrize("key", NUMBERS)
def test_ranges(key):
    kind = type(DEFAULTS[key])
    for value in (kind(-1), kind(10**20)):
        with pytest.raises(ConfigError, match=f"{key} = .* is out of range; give a value from .* to "):
            Settings.from_run_config({key: value})
    if kind is float:
        for value in (float("nan"), float("inf"), -float("inf"), 10**400, -(10**400)):
            with pytest.raises(ConfigError, match=f"{key} = .* is out of range"):
                Settings.from_run_config({key: value})


@pytest.mark.parametrize("key", CHOICES)
def test_choices(key):
    assert DEFAULTS[key] in CHOICES[key]
    with pytest.raises(ConfigError, match=f"{key} = 'other' is not known; choose one of: {', '.join(CHOICES[key])}"):
        Settings.from_run_config({key: "other"})


@pytest.mark.parametrize("key", SWITCHES)
def test_switches(key):
    for text, value in (("true", True), ("False", False)):
        assert parse_assignment(f"{key}={text}") == (key, value)
    with pytest.raises(ConfigError, match=f"{key} = 'yes' is not true or false; give for example {key}="):
        parse_assignment(f"{key}=yes")
    for wrong in (1, "true"):
        with pytest.raises(ConfigError, match=f"{key} = {wrong!r} is not true or false"):
            Settings.from_run_config({key: wrong})


def test_no_more_clients_per_round_than_clients():
    with pytest.raises(ConfigError, match="clients-per-round = 5 is more than the clients that take part"):
        Settings.from_run_config({"clients": 4})
    assert Settings.from_run_config({"clients": 5}).clients == 5


@pytest.mark.parametrize("none", [{"novel-clients": 20}, {"unseen-clients": 12, "novel-clients": 9}])
def test_somebody_has_to_train(none):
    with pytest.raises(ConfigError, match="leave none of clients = 20 to train: lower one of the first two"):
        Settings.from_run_config(none)


@pytest.mark.parametrize(("alpha", "good"), [(0.0, True), (1e-3, True), (1e-7, False)])
def test_the_alpha_of_novel_clients_is_in_the_range_of_the_other(alpha, good):
    config = {"partition": "dirichlet", "novel-clients": 2, "novel-alpha": alpha}
    if good:
        assert Settings.from_run_config(config).novel_alpha == alpha
    else:
        with pytest.raises(ConfigError, match="novel-alpha = 1e-07 is out of range; give a value from"):
            Settings.from_run_config(config)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("rounds=20", "rounds", 20),
        (" rounds = 20 ", "rounds", 20),
        ("learning-rate=1", "learning-rate", 1.0),
        ("learning-rate=1e-3", "learning-rate", 1e-3),
        ("gp.kernel=linear", "gp.kernel", "linear"),
        ("data-root=/data/a=b", "data-root", "/data/a=b"),
        ("data-root=", "data-root", ""),
        ("network=package.module:function", "network", "package.module:function"),
    ],
)
def test_assignments(text, key, value):
    got = parse_assignment(text)
    assert got == (key, value)
    assert type(got[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rounds", "'rounds' is not of the form key=value"),
        ("", "'' is not of the form key=value"),
        ("rounds=ten", "rounds = 'ten' is not an integer; give for example rounds=60"),
        ("rounds=2.5", "rounds = '2.5' is not an integer"),
        ("rounds=", "rounds = '' is not an integer"),
        ("learning-rate=fast", "learning-rate = 'fast' is not a number; give for example learning-rate=0.05"),
    ],
)
def test_assignments_that_mean_nothing(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_assignment(text)


def test_every_default_can_be_assigned():
    for key, value in DEFAULTS.items():
        assert parse_assignment(f"{key}={value}") == (key, value)


def test_describe():
    rows = describe()
    assert {key: default for key, default, _ in rows} == DEFAULTS
    assert all(text for _, _, text in rows)
    texts = {key: text for key, _, text in rows}
    assert texts["gp.link"].endswith(" (arith, chain-geo, paper-explog)")


@pytest.mark.parametrize("config", [{"rounds": 0}, {"round": 1}, {"rounds": "x"}, {"gp.link": "x"}, {"clients": 1}])
def test_errors_are_one_line(config):
    with pytest.raises(ConfigError) as caught:
        Settings.from_run_config(config)
    assert "\n" not in str(caught.value)
    assert str(caught.value)[-1] in ".?"


def test_regression_has_no_classes():
    with pytest.raises(ConfigError, match="classes = 'all' does not go with task = 'regression'"):
        Settings(task="regression", variant="ip-data", classes="all")
    with pytest.raises(ConfigError, match="objective = 'marginal' does not go with variant = 'ip-data'"):
        Settings(task="regression", variant="ip-data", objective="marginal")
    for link in CHOICES["gp.link"]:  # without meaning there
        assert Settings(task="regression", gp=GPSettings(link=link)).task == "regression"


def test_unseen_clients_do_not_take_part():
    assert Settings(clients=20, unseen_clients=2).participants == 18
    with pytest.raises(ConfigError, match=r"clients - unseen-clients = 4"):
        Settings(clients=6, unseen_clients=2)
