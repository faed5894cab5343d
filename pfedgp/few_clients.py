"""Clients a round where fewer train than a round draws by default: all of them, where nothing else is said."""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.words import counted

__all__ = ["few_clients_note", "fitting_clients"]

KEY = "clients-per-round"


def fitting_clients(chosen: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, int]:
    """The clients a round, by flat key, where the user does not give them and fewer take part; else nothing.

    Parameters
    ----------
    chosen : mapping
        Flat keys that the user gives.
    settings : mapping
        These and those of presets and data set, not checked yet.
    """
    known: dict[str, Any] = {"clients": Settings.clients, KEY: Settings.clients_per_round, **settings}
    counts = [known.get(key, 0) for key in (KEY, "clients", "unseen-clients", "novel-clients")]
    if KEY in chosen or not all(isinstance(n, int) for n in counts):
        return {}
    drawn, clients, *away = counts
    training = clients - sum(away)
    return {KEY: training} if 0 < training < drawn else {}


def few_clients_note(chosen: Mapping[str, Any], settings: Settings) -> str:
    """A sentence that says so; empty where `fitting_clients` changed nothing."""
    if KEY in chosen or not settings.clients_per_round == settings.trainers < Settings.clients_per_round:
        return ""
    n, usual = settings.trainers, Settings.clients_per_round
    return f"A round draws {counted(n, 'client')} (clients-per-round = {usual} by default), as no more train."
