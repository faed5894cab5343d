"""The names under which a command answers over HTTP."""

from pfedgp.serving.hosts import host_names


def test_a_command_for_other_machines_answers_under_its_own_names() -> None:
    assert host_names("192.0.2.7", ["fl.example.org"]) == {"192.0.2.7", "fl.example.org"}
    assert {"localhost", "127.0.0.1", "::1", "dashboard"} <= host_names("0.0.0.0", ["dashboard"])
