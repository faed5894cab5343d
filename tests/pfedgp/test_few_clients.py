"""A simulation of fewer clients than a round draws by default draws all of them, and says so."""

import pytest

from pfedgp.cli import main
from pfedgp.collecting import collect_settings, given_settings
from pfedgp.few_clients import few_clients_note
from pfedgp_core.errors import ConfigError
from tests.pfedgp.recorded_runs import Runs


@pytest.mark.parametrize(
    ("preset", "assignments", "drawn"),
    [
        ("", ["clients=2"], 2),
        ("", ["clients=5"], 5),
        ("", ["clients=100"], 5),
        ("", ["clients=6", "unseen-clients=2"], 4),
        ("paper", ["clients=2"], 2),
        ("", ["clients=1", "rounds=3"], 1),
    ],
)
def test_a_round_draws_all_where_there_are_few(preset: str, assignments: list[str], drawn: int) -> None:
    settings = collect_settings({}, {"preset": preset}, assignments)
    assert settings.clients_per_round == drawn
    note = few_clients_note(given_settings({}, {}, assignments), settings)
    clients = "1 client" if drawn == 1 else f"{drawn} clients"
    said = f"A round draws {clients} (clients-per-round = 5 by default), as no more train."
    assert note == (said if drawn < 5 else "")


def test_what_the_user_gives_is_kept_and_refused() -> None:
    given = ["clients=2", "clients-per-round=1"]
    settings = collect_settings({}, {}, given)
    assert settings.clients_per_round == 1
    assert few_clients_note(given_settings({}, {}, given), settings) == ""
    with pytest.raises(ConfigError, match="clients-per-round = 5 is more than the clients that take part"):
        collect_settings({"clients-per-round": 5}, {}, ["clients=2"])


def test_the_command_says_so(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--clients", "2", "--classes-per-client", "5"]) == 0
    assert len(runs) == 1
    note = "A round draws 2 clients (clients-per-round = 5 by default), as no more train."
    assert capsys.readouterr().out.splitlines()[0] == note
