"""Needs against a limit, and what limits there are; nothing of the sizes here is allocated."""

from pathlib import Path

import pytest

from pfedgp_core import memory
from pfedgp_core.data.own.samples import Wanted
from pfedgp_core.errors import ConfigError, MemoryLimitError
from pfedgp_core.memory import MemoryLimit, Need, inputs_need, machine_memory, require_memory


def test_needs_together_keep_to_the_limit() -> None:
    needs = [Need(6e8, "the first", "lower one"), Need(5e8, "the second", "lower two")]
    require_memory(needs, MemoryLimit(1.1e9))
    with pytest.raises(MemoryLimitError) as refused:
        require_memory(needs, MemoryLimit(1.0e9, "buy more"))
    assert str(refused.value) == (
        "This needs at least 1.1 GB of memory, 600.0 MB of it for the first, and 1.0 GB may be used here: lower one, "
        "or buy more."
    )


def test_inputs_are_counted_as_they_are_read_and_as_numbers() -> None:
    assert inputs_need(100, (3, 5000, 5000)).bytes == 100 * 75e6 * 5
    assert inputs_need(100, (20,)).bytes == 100 * 20 * 8


def test_an_operator_gives_gigabytes_or_has_most_of_the_machine() -> None:
    assert MemoryLimit.given("16").bytes == 16e9
    assert MemoryLimit.given(" ").bytes == MemoryLimit.of_machine().bytes == 0.8 * machine_memory()


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", "inf", "1e999"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no amount of memory: give gigabytes, such as 16"):
        MemoryLimit.given(text)


def test_only_resized_samples_are_bounded() -> None:
    limit = MemoryLimit(1e6)
    Wanted((3, 500, 500), resize=False, memory=limit).require_room(100, 2)
    Wanted(None, resize=True, memory=limit).require_room(100, 2)
    Wanted((3, 8, 8), resize=True, memory=limit).require_room(100, 2)
    with pytest.raises(MemoryLimitError, match="100 samples of shape 3 x 500 x 500"):
        Wanted((3, 500, 500), resize=True, memory=limit).require_room(100, 2)


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/a/b\n", {"a/memory.max": "500\n", "a/b/memory.max": "max\n"}, [500.0]),
        ("0::/\n", {"memory.max": "700\n"}, [700.0]),
        ("5:cpu:/x\n4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "900\n"}, [900.0]),
        ("nonsense\n", {}, []),
    ],
)
def test_limits_of_control_groups(
    groups: str, files: dict[str, str], expected: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup").write_text(groups)
    for name, content in files.items():
        (tmp_path / "sys" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sys" / name).write_text(content)
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "sys")
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "cgroup")
    assert memory.group_limits() == expected
