"""A client's own state: current from the round that the server accepted, dropped where it did not."""

from pathlib import Path

import numpy as np
import pytest
from flwr.app import Context, RecordDict

from client.state import KEPT_FOLDER, RECENT, ClientStates, client_states
from pfedgp_core.errors import ArtefactError


def context_of(**node_config: str) -> Context:
    return Context(1, 9, dict(node_config), RecordDict(), {})


@pytest.fixture(params=["site", "simulation", "context"])
def states(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClientStates:
    """The same states over each of the places where they can lie."""
    monkeypatch.delenv(KEPT_FOLDER, raising=False)
    if request.param == "simulation":
        monkeypatch.setenv(KEPT_FOLDER, str(tmp_path))
    node_config = {"state": str(tmp_path)} if request.param == "site" else {}
    return client_states(context_of(**node_config), "run", "ward-3")


def vector(value: float) -> np.ndarray:
    return np.full(3, value, np.float32)


def test_before_the_first_accepted_round_there_is_none(states: ClientStates) -> None:
    assert states.current(0) is None
    assert not states.lost


def test_the_state_of_an_accepted_round_comes_back_to_the_bit(states: ClientStates) -> None:
    states.put(4, np.array([0.1, -0.0, 3e-39], np.float32))
    found = states.current(4)
    assert found is not None
    assert found.tobytes() == np.array([0.1, -0.0, 3e-39], np.float32).tobytes()


def test_a_refused_round_is_never_the_state(states: ClientStates) -> None:
    states.put(1, vector(1))
    states.put(2, vector(2))  # the server refused the update of this round
    states.settle(accepted=1, best=0, round=3)
    assert np.array_equal(states.current(1), vector(1))
    assert states.current(2) is None


def test_the_state_of_the_best_model_stays_however_old(states: ClientStates) -> None:
    for t in range(1, 21):
        states.settle(accepted=t - 1, best=3, round=t)
        states.put(t, vector(t))
    assert np.array_equal(states.current(3), vector(3))


def test_old_states_go(states: ClientStates) -> None:
    for t in range(1, 21):
        states.settle(accepted=t - 1, best=0, round=t)
        states.put(t, vector(t))
    states.settle(accepted=20, best=0, round=21)
    assert [t for t in range(1, 21) if states.current(t) is not None] == list(range(21 - RECENT, 21))


def test_no_state_is_remembered_as_such(states: ClientStates) -> None:
    states.put(1, None)
    assert states.current(1) is None
    assert not states.lost


def test_a_state_that_is_gone_is_told(states: ClientStates, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", "pfedgp.client")
    assert states.current(5) is None
    assert states.lost


def test_runs_and_clients_are_apart(tmp_path: Path) -> None:
    context = context_of(state=str(tmp_path))
    client_states(context, "run-1", "a").put(1, vector(1))
    assert client_states(context, "run-2", "a").current(1) is None
    assert client_states(context, "run-1", "b").current(1) is None


def test_names_of_the_server_lead_nowhere_else(tmp_path: Path) -> None:
    site = tmp_path / "site"
    client_states(context_of(state=str(site)), "../../evil", "/etc/../x").put(1, vector(1))
    assert [path.parts[-1] for path in tmp_path.iterdir()] == ["site"]
    assert len(list((site / "kept").rglob("1.state"))) == 1


def test_the_folder_is_private(tmp_path: Path) -> None:
    client_states(context_of(state=str(tmp_path)), "run", "a").put(1, vector(1))
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0


def test_a_damaged_state_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    states = client_states(context_of(state=str(tmp_path)), "run", "a")
    states.put(1, vector(1))
    (file,) = tmp_path.rglob("1.state")
    file.write_bytes(b"half")
    with pytest.raises(ArtefactError, match="remove it to begin anew"):
        states.current(1)


def test_a_late_request_drops_nothing_that_came_after_it(states: ClientStates) -> None:
    for t in (1, 4, 5):  # round 2 took so long that the server went on without it
        states.put(t, vector(t))
    states.settle(accepted=1, best=0, round=2)
    states.put(2, vector(2))
    assert np.array_equal(states.current(5), vector(5))


@pytest.mark.parametrize("damage", ["one bit", "another client's", "another round's", "half", "longer", "empty"])
def test_only_the_states_of_this_client_and_round_are_taken(damage: str, tmp_path: Path) -> None:
    context = context_of(state=str(tmp_path))
    mine, other = client_states(context, "run", "a"), client_states(context, "run", "b")
    mine.put(1, vector(1))
    (file,) = tmp_path.rglob("1.state")
    content = file.read_bytes()
    other.put(1, vector(2))
    mine.put(2, vector(2))
    (another,) = set(tmp_path.rglob("1.state")) - {file}
    file.write_bytes(
        {
            "one bit": content[:-1] + bytes([content[-1] ^ 1]),
            "another client's": another.read_bytes(),
            "another round's": file.with_name("2.state").read_bytes(),
            "half": content[: len(content) // 2],
            "longer": content + b"abcd",
            "empty": b"",
        }[damage]
    )
    with pytest.raises(ArtefactError, match="is damaged, or is the state of another client or round"):
        mine.current(1)


def test_a_folder_that_was_open_to_all_is_closed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o777)
    client_states(context_of(state=str(tmp_path)), "run", "a").put(1, vector(1))
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
