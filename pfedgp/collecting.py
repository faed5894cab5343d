"""The settings of a run from all that a user gives, and what is said of those that nobody gave."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pfedgp.few_clients import few_clients_note, fitting_clients
from pfedgp.natural_settings import natural_settings
from pfedgp.own_dataset import with_own_data
from pfedgp_core.config import Settings
from pfedgp_core.config_text import parse_assignment
from pfedgp_core.presets import AUTO, ZERO_MEAN, preset_of
from pfedgp_core.prior_choice import prior_choice

__all__ = ["NAMED", "Collected", "collect", "collect_settings", "given_settings", "preset_of_all"]

# The settings that have an option of their own; all others are reached with --set.
NAMED = (
    "method",
    "dataset",
    "clients",
    "partition",
    "classes-per-client",
    "noise",
    "clients-per-round",
    "wait-share",
    "rounds",
    "local-epochs",
    "seed",
    "data-root",
    "label-column",
    "group-column",
    "partition-by",
    "variant",
    "objective",
    "network",
)


class Collected(NamedTuple):
    """Settings, and what is to be said before the run.

    Attributes
    ----------
    settings : Settings
    notes : tuple of str
        A line for each choice that was made for the user.
    """

    settings: Settings
    notes: tuple[str, ...]


def collect(
    flat: Mapping[str, Any], named: Mapping[str, Any], assignments: list[str], deployed: bool = False
) -> Collected:
    """Join the sources of settings: defaults < preset < those of natural sites < file < named < ``--set``.

    Where no preset is named it is ``auto`` (`pfedgp_core.prior_choice`), and where fewer clients train than a round
    draws by default, it draws all of them (`pfedgp.few_clients`).

    Parameters
    ----------
    flat : mapping
        Flat keys of the settings file; ``preset`` may be among them.
    named : mapping
        Parsed options; snake_case names, None where not given; ``preset`` among them.
    assignments : list of str
        ``key=value`` texts.
    deployed : bool
        The run is one of a server's sites, and no simulation.

    Raises
    ------
    ConfigError
        An unknown setting or preset, or a value that is not allowed.
    DataError
        The number of a data set's sites is asked for, and it cannot be loaded.
    """
    chosen = with_own_data(given_settings(flat, named, assignments))
    preset = _preset(chosen.pop("preset", ""), named)
    natural = natural_settings(chosen)
    known = {**natural, **chosen}
    found = preset_of(preset, known, deployed)
    joined = {**found.settings, **known}
    settings = Settings.from_run_config(joined | fitting_clients(chosen, joined))
    notes = few_clients_note(chosen, settings), found.note
    return Collected(settings, tuple(note for note in notes if note))


def collect_settings(flat: Mapping[str, Any], named: Mapping[str, Any], assignments: list[str]) -> Settings:
    """The settings that `collect` finds, where nothing is said of them."""
    return collect(flat, named, assignments).settings


def given_settings(flat: Mapping[str, Any], named: Mapping[str, Any], assignments: list[str]) -> dict[str, Any]:
    """What the user gives of the settings, by flat key; see `collect`, which also checks it."""
    given = {key: named.get(key.replace("-", "_")) for key in NAMED}
    assigned = [f"{key}={text}" for key, text in given.items() if text is not None] + assignments
    return {**flat, **dict(map(parse_assignment, assigned))}


def preset_of_all(
    flat: Mapping[str, Any], named: Mapping[str, Any], assignments: list[str], candidates: Iterable[list[str]]
) -> tuple[str, str]:
    """The preset of several runs that are to be compared, and a line about it: a shared head for all or for none.

    Parameters
    ----------
    flat, named, assignments
        As of `collect`.
    candidates : iterable of list of str
        Assignments of each run, beside these.
    """
    chosen = with_own_data(given_settings(flat, named, assignments))
    preset = _preset(chosen.pop("preset", ""), named)
    if preset != AUTO:
        return preset, ""
    known, note = {**natural_settings(chosen), **chosen}, ""
    for candidate in candidates:
        given = {**known, **dict(map(parse_assignment, candidate))}
        choice = prior_choice(given)
        if not choice.head and given.get("method", Settings.method) == Settings.method:
            return ZERO_MEAN, choice.note
        note = preset_of(AUTO, given).note or note
    return AUTO, note


def _preset(in_file: Any, named: Mapping[str, Any]) -> str:
    return str(named.get("preset") or in_file or AUTO)
