"""Settings of a run: the one source of every default, its help text and its range.

`[tool.flwr.app.config]` in pyproject.toml mirrors these defaults (a test compares the two). Keys are kebab-case in
TOML and on the command line (``local-epochs``, ``gp.kernel``), snake_case here.
"""

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from pfedgp_core.column_rules import FEDERATED, FILE, column_rules
from pfedgp_core.errors import ConfigError
from pfedgp_core.gp_settings import GPSettings
from pfedgp_core.method_settings import MethodSettings, method_fields
from pfedgp_core.registry import METHODS, NETWORKS, TASKS, VARIANTS, is_import_path
from pfedgp_core.setting import Value, as_float, check, default_of, kebab, setting
from pfedgp_core.simulation_settings import NOVEL_ALPHA_FROM, SimulationSettings
from pfedgp_core.variant_rules import check_class_weights, check_noise, check_variant
from pfedgp_core.words import cut

__all__ = ["GPSettings", "Settings", "flat_fields"]

LONGEST_KEY = 100  # characters
GROUPS = ("gp", "own")  # fields of `Settings` that are groups of settings


@dataclass(frozen=True)
class Settings(SimulationSettings):
    """Everything that decides a federation's result, apart from the clients' own data."""

    # What is learned
    task: str = setting("classification", "what the data set's samples are labelled with", choices=TASKS)
    method: str = setting(
        "pfedgp", f"federated method: {', '.join(METHODS)}, or package.module:Class; its own settings are METHOD.*"
    )
    class_names: str = setting(
        "", "classes of the federation, separated by commas; empty = all that the sites have before round 1"
    )
    positive_class: str = setting(
        "", "class that is worse to miss than to suspect, such as a disease; reports then tell the two mistakes apart"
    )
    input_shape: str = setting(
        "", "shape of one input, such as 3,32,32, to which sites resize their images; empty = that of their data"
    )
    column_rules: str = setting(
        "", "rules by which columns of tables become inputs, as JSON; in a settings file: tables [data.columns.NAME]"
    )
    column_rules_from: str = setting(
        FILE,
        "rules of all other columns: none (file), or as all sites' tables say before round 1 (federated)",
        choices=(FILE, FEDERATED),
    )
    variant: str = setting("full", "GP at each tree node", choices=VARIANTS)
    objective: str = setting(
        "predictive",
        "training objective: held-out points from the others, the marginal likelihood, each point from all others, "
        "or the cross entropy of the shared head (gp.prior-mean)",
        choices=("predictive", "marginal", "loo", "softmax"),
    )
    inducing_per_class: int = setting(
        100, "inducing inputs of each class, or in all in regression (ip-data, ip-compute)", low=1, high=100_000
    )
    inducing_per_node: int = setting(
        0,
        "ip-data: inducing inputs that a tree node trains on, drawn anew for every step; 0 = all of its classes",
        low=0,
        high=10_000_000,
    )
    personal_data: bool = setting(True, "ip-data: use the client's own data at prediction, not inducing inputs alone")
    class_balancing: bool = setting(True, "ip-data: correct node probabilities to the client's own class counts")
    class_weights: str = setting(
        "none",
        "balanced: nodes are trained, and answer, as if a client's classes were equally frequent (full, ip-compute)",
        choices=("none", "balanced"),
    )
    classes: str = setting(
        "own", "classes of a client's tree: those of its data, or all of the federation", choices=("own", "all")
    )
    network: str = setting(
        "auto", f"kernel network: auto, {', '.join(NETWORKS)}, frozen:NAME or package.module:function"
    )
    feature_dim: int = setting(84, "width of the features that enter the kernel", low=1, high=4096)
    # The federation
    rounds: int = setting(60, "communication rounds", low=1, high=1_000_000)
    clients_per_round: int = setting(5, "clients sampled in each round", low=1, high=1_000_000)
    min_clients: int = setting(
        0, "clients with own data to wait for before round 1; 0 = clients-per-round", low=0, high=1_000_000
    )
    aggregation: str = setting(
        "uniform",
        "average of the updates: uniform (paper), by sample count, or robust against a few wrong ones",
        choices=("uniform", "samples", "median", "trimmed-mean", "nearest"),
    )
    trim_share: float = setting(
        0.1, "share left out: by trimmed-mean of the smallest and of the largest values, by nearest", low=0.0, high=0.49
    )
    evaluate_every: int = setting(
        5, "rounds between evaluations on every client's validation data", low=1, high=1_000_000
    )
    evaluate_clients: int = setting(
        0, "clients drawn for each of these evaluations, 0 = all; test data is always all's", low=0, high=1_000_000
    )
    best_classes: str = setting(
        "all", "classes by which the best model is chosen: all that a classifier knows, or own", choices=("all", "own")
    )
    test_initial: bool = setting(
        True,
        "at the end also test the network before round 1, on evaluate-clients of the clients: what joining gives",
    )
    average_states: float = setting(
        0.0,
        "weight of former states in a running average, which is tested and kept in place of the last state; 0 = none",
        low=0.0,
        high=0.9999,
    )
    min_results: int = setting(1, "good replies that a round needs to change the model", low=1, high=1_000_000)
    update_encoding: str = setting(
        "float32",
        "how clients send updates: all bits, half of the bytes (float16), or a quarter with error feedback (int8)",
        choices=("float32", "float16", "int8"),
    )
    clip_updates: float = setting(
        1.5, "multiple of the usual update norm to which a longer update is shortened; 0 = never", low=0.0, high=1e12
    )
    max_update_norm: float = setting(
        20.0, "multiple of the usual update norm above which an update is refused", low=1.0, high=1e12
    )
    max_failed_rounds: int = setting(
        3, "consecutive rounds with too few good replies that end the run", low=1, high=1_000_000
    )
    on_failure: str = setting(
        "continue",
        "after a client failed in a round or in the last test: go on, or stop the run",
        choices=("continue", "stop"),
    )
    round_timeout: float = setting(
        3600.0, "seconds after which a round goes on without the missing replies", low=1e-3, high=1e9
    )
    wait_share: float = setting(
        1.0,
        "share of the requested clients whose answers close a round; later updates are counted and not used",
        low=0.01,
        high=1.0,
    )
    wait_timeout: float = setting(
        600.0, "seconds to wait for enough connected clients before the run ends", low=1e-3, high=1e9
    )
    personalise: bool = setting(
        True, "own data: at the end, sites with a state folder make their classifiers from the best model"
    )
    # One client's update
    local_epochs: int = setting(1, "passes over the client's data in one update", low=1, high=10000)
    learning_rate: float = setting(0.05, "step size of SGD", low=1e-9, high=1e3)
    momentum: float = setting(0.9, "momentum of SGD, within one update", low=0.0, high=0.9999)
    weight_decay: float = setting(1e-3, "weight decay of SGD", low=0.0, high=1e3)
    clip_norm: float = setting(50.0, "largest gradient norm of a step", low=1e-6, high=1e9)
    batch_size: int = setting(
        20, "samples of a mini-batch; pfedgp takes all of a client's data at once", low=1, high=1_000_000
    )
    local_steps: int = setting(
        20, "mini-batches of one update, 0 = local-epochs passes; unused by pfedgp", low=0, high=1_000_000
    )
    loss_scale: float = setting(1.0, "factor on the loss", low=1e-6, high=1e6)
    loss_normalisation: str = setting(
        "node-mean",
        "sum of node means (node-mean) or mean over all held-out points (point-mean)",
        choices=("node-mean", "point-mean"),
    )
    # Differential privacy of one client's updates
    dp_noise: float = setting(
        0.0, "deviation of the noise on each value of an update, in units of dp-clip; 0 = no noise", low=0.0, high=1e6
    )
    dp_clip: float = setting(1.0, "largest norm of an update where dp-noise > 0", low=1e-9, high=1e9)
    dp_delta: float = setting(1e-5, "delta of the (epsilon, delta) that a run states", low=1e-12, high=0.5)
    seed: int = setting(0, "seed of everything random in the run", low=0, high=2**63 - 1)
    gp: GPSettings = field(default_factory=GPSettings)
    own: MethodSettings = field(default_factory=MethodSettings)

    def __post_init__(self) -> None:
        for owner, prefix in ((self, ""), (self.gp, "gp.")):
            for f in fields(owner):
                if f.name not in GROUPS:
                    check(prefix + kebab(f.name), getattr(owner, f.name), f)
        self._check_method()
        column_rules(self.column_rules)
        if self.trainers < 1:
            raise ConfigError(
                f"unseen-clients = {self.unseen_clients} and novel-clients = {self.novel_clients} leave none of "
                f"clients = {self.clients} to train: lower one of the first two, or raise clients."
            )
        if self.clients_per_round > self.trainers:
            novel = " - novel-clients" if self.novel_clients else ""
            raise ConfigError(
                f"clients-per-round = {self.clients_per_round} is more than the clients that take part "
                f"(clients - unseen-clients{novel} = {self.trainers}): lower the first or raise clients."
            )
        check_variant(self.variant, self.task, self.objective, self.classes, self.personal_data, self.gp.prior_mean)
        check_class_weights(self.class_weights, self.variant, self.task, self.objective)
        check_noise(self.dp_noise, self.gp.prior_mean)
        if self.aggregation in ("trimmed-mean", "nearest") and 0 < self.trim_share * self.clients_per_round < 1 - 1e-9:
            raise ConfigError(
                f"trim-share = {self.trim_share:g} of clients-per-round = {self.clients_per_round} leaves nobody out: "
                f"raise clients-per-round to at least {math.ceil(1 / self.trim_share - 1e-9)}, raise trim-share, or "
                "set aggregation = 'median'."
            )
        if self.min_results > self.clients_per_round:
            raise ConfigError(
                f"min-results = {self.min_results} is more than clients-per-round = {self.clients_per_round}, "
                "so no round could succeed: lower the first or raise the second."
            )
        if 0 < self.novel_alpha < NOVEL_ALPHA_FROM:
            raise ConfigError(
                f"novel-alpha = {self.novel_alpha:g} is out of range; give a value from {NOVEL_ALPHA_FROM:g} to 1e+06, "
                "or 0 for that of all clients."
            )

    def _check_method(self) -> None:
        """Raise ConfigError where the method is not known, or does not go with the other settings."""
        self.own.check(self.method)
        if is_import_path(self.method):
            return
        if self.method not in METHODS:
            near = difflib.get_close_matches(self.method, METHODS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"choose one of: {', '.join(METHODS)},"
            raise ConfigError(f"method = {cut(self.method, 100)!r} is not known: {hint} or give package.module:Class.")
        tasks = METHODS[self.method].tasks
        if self.task not in tasks:
            raise ConfigError(
                f"method = {self.method!r} does not go with task = {self.task!r}: set task = {tasks[0]!r}, or "
                "method = 'pfedgp'."
            )

    @property
    def run_name(self) -> str:
        """What a run is called before its time: the data set, and the variant of pFedGP or the other method."""
        return f"{self.dataset}-{self.variant if self.method == 'pfedgp' else self.method}"

    @classmethod
    def from_run_config(cls, run_config: Mapping[str, Value]) -> "Settings":
        """Build settings from flat kebab-case keys, as in Flower's ``context.run_config``.

        Missing keys take their default. Integers are accepted where a float is meant.

        Raises
        ------
        ConfigError
            An unknown key, a value of the wrong type, out of range, or not among the choices.
        """
        known, of_methods = flat_fields(), method_fields()
        flat: dict[str, Any] = {}
        nested: dict[str, Any] = {}
        own: dict[str, Value] = {}
        foreign = is_import_path(str(run_config.get("method", "")))  # its class declares keys that are unknown here
        for key, value in run_config.items():
            if not isinstance(key, str) or len(key) > LONGEST_KEY:
                raise ConfigError(f"Unknown setting {cut(key, LONGEST_KEY)!r}: see pfedgp settings for all keys.")
            if foreign and key not in known and "." in key:
                if not isinstance(value, Value):
                    raise ConfigError(f"{key} = {cut(value, 60)} is no value of a setting: give a number or a text.")
                own[key] = value
                continue
            if key not in known:
                near = difflib.get_close_matches(kebab(key), known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"the keys are: {', '.join(sorted(known))}."
                raise ConfigError(f"Unknown setting {key!r}: {hint}")
            f = known[key]
            fitting = as_float(value) if isinstance(default_of(f), float) and type(value) is int else value
            if key in of_methods:
                own[key] = fitting
            else:
                (nested if key.startswith("gp.") else flat)[f.name] = fitting
        return cls(**flat, gp=GPSettings(**nested), own=MethodSettings.of(own))

    def to_run_config(self) -> dict[str, Value]:
        """Return all settings as flat kebab-case keys; the inverse of ``from_run_config``."""
        return dict(self._flat)

    @cached_property
    def _flat(self) -> dict[str, Value]:
        flat = {kebab(f.name): getattr(self, f.name) for f in fields(self) if f.name not in GROUPS}
        gp = {f"gp.{kebab(f.name)}": getattr(self.gp, f.name) for f in fields(self.gp)}
        return flat | gp | self.own.to_run_config()

    def with_rules(self, agreed: str) -> "Settings":
        """The settings with the rules on which sites have agreed; themselves where there are none."""
        return self.replace(column_rules=agreed, column_rules_from=FILE) if agreed else self

    def replace(self, **changes: Any) -> "Settings":
        """Return a copy with some fields changed (snake_case names)."""
        return dataclasses.replace(self, **changes)


def flat_fields() -> dict[str, dataclasses.Field[Any]]:
    """Declarations of all settings by flat key, in order."""
    flat = {kebab(f.name): f for f in fields(Settings) if f.name not in GROUPS}
    return flat | {f"gp.{kebab(f.name)}": f for f in fields(GPSettings)} | method_fields()
