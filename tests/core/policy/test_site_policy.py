"""Reading of policies: defaults, what is refused, hours, and rights of the file."""

from datetime import datetime
from pathlib import Path

import pytest

from pfedgp_core.errors import PolicyError
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.policy.hours import Hours
from pfedgp_core.policy.site_policy import FILE, FOLDER, SitePolicy, read_policy


def write(state: Path, text: str) -> Path:
    (state / FOLDER).mkdir()
    (state / FOLDER / FILE).write_text(text)
    return state


def test_no_folder_is_no_policy(tmp_path: Path) -> None:
    assert read_policy(tmp_path) is None


def test_an_empty_file_is_the_policy_of_approved_runs(tmp_path: Path) -> None:
    policy = read_policy(write(tmp_path, ""))
    assert policy == SitePolicy()
    assert policy.runs == "approved"


def test_a_folder_without_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    with pytest.raises(PolicyError, match="everything is refused"):
        read_policy(tmp_path)


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / FOLDER).symlink_to(tmp_path / "gone")
    with pytest.raises(PolicyError):
        read_policy(tmp_path)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_change_is_refused(tmp_path: Path, mode: int) -> None:
    (write(tmp_path, "") / FOLDER / FILE).chmod(mode)
    with pytest.raises(PolicyError, match="chmod go-w"):
        read_policy(tmp_path)


def test_every_key_is_read(tmp_path: Path) -> None:
    text = """
    runs = "any"
    methods = ["pfedgp", "fedavg"]
    networks = ["lenet"]
    min-samples = 50
    shared-head = false
    max-update-norm = 10
    max-updates = 100
    max-evaluations = 60
    min-evaluate-every = 5
    dp-noise = 1.5
    dp-clip = 2
    max-epsilon = 8
    dp-delta = 1e-6
    hours = ["22:00-06:00"]
    metrics = []
    min-cell = 5
    publications = true
    """
    hours = (Hours.of("22:00-06:00"),)
    assert read_policy(write(tmp_path, text)) == SitePolicy(
        *("any", ("pfedgp", "fedavg"), ("lenet",), 50, False, 10.0, 100, 60, 5, 1.5, 2.0, 8.0, 1e-6, hours, (), 5, True)
    )


@pytest.mark.parametrize(
    "line",
    [
        *("runs = 1", "runs = ['any']", "methods = []", "methods = 'pfedgp'", "networks = [1]", "min-cell = 1.5"),
        *("min-cell = true", "max-epsilon = 0", "max-epsilon = inf", "metrics = ['all']", "publications = 1"),
        *("hours = []", "hours = ['']", "minsamples = 5", "max-updates = 0", "dp-noise = -1", "[policy]\nruns = 'any'"),
        *("max-evaluations = 0", "min-evaluate-every = 0", "shared-head = 1"),
    ],
)
def test_a_mistake_names_its_key_and_refuses_everything(tmp_path: Path, line: str) -> None:
    with pytest.raises(PolicyError, match="everything is refused"):
        read_policy(write(tmp_path, line))


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 2 + day, hour, minute)  # day 0 is a Monday


@pytest.mark.parametrize(
    ("text", "held", "not_held"),
    [
        ("08:00-18:00", [at(0, 8), at(6, 17, 59)], [at(0, 7, 59), at(0, 18)]),
        ("Mon-Fri 18:00-07:00", [at(0, 18), at(5, 6, 59), at(1, 3)], [at(0, 6), at(5, 18), at(2, 12)]),
        ("Sat-Sun 00:00-24:00", [at(5, 0), at(6, 23, 59)], [at(0, 0), at(4, 23, 59)]),
        ("Sun 22:00-22:00", [at(6, 22), at(7, 21, 59)], [at(6, 21), at(7, 22)]),
        ("Fri-Mon 00:00-24:00", [at(4, 1), at(0, 1)], [at(1, 1), at(3, 1)]),
    ],
)
def test_hours_of_the_week(text: str, held: list[datetime], not_held: list[datetime]) -> None:
    hours = Hours.of(text)
    assert all(map(hours.hold, held))
    assert not any(map(hours.hold, not_held))


@pytest.mark.parametrize(
    "text", ["", "8:00-18:00", "08:00", "Mo 08:00-18:00", "24:00-25:00", "08:60-09:00", "08:00-24:01"]
)
def test_what_are_no_hours(text: str) -> None:
    with pytest.raises(MalformedError, match="are none"):
        Hours.of(text)
