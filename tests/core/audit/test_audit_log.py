"""The audit log: any change of a line is found, kills are named and survived, rotation keeps the chain."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pfedgp_core.audit.log import CURRENT, HEAD, AuditLog, log_files
from pfedgp_core.audit.verifying import Verified, verify
from pfedgp_core.errors import ArtefactError

WRITER = """
from pathlib import Path
from pfedgp_core.audit.log import AuditLog
log = AuditLog(Path({!r}))
"""


def written(folder: Path, n: int = 6, most: int = 10**6) -> Path:
    log = AuditLog(folder, most=most)
    for i in range(n):
        log.add(("sent", {"bytes": i, "fields": {"metrics": 7}}))
    return folder


def lines(folder: Path) -> list[bytes]:
    return (folder / CURRENT).read_bytes().splitlines(keepends=True)


def test_a_log_as_it_was_written_is_whole(tmp_path: Path) -> None:
    found = verify(written(tmp_path / "audit"))
    assert (found.faults, found.torn, found.lines, found.first, found.last) == ([], [], 6, 1, 6)
    assert json.loads((tmp_path / "audit" / HEAD).read_text()) == {"n": 6, "hash": found.head}
    assert (tmp_path / "audit").stat().st_mode & 0o077 == 0


NONE_NOTED = '{"n": 0, "hash": "' + 64 * "0" + '"%s}'


@pytest.mark.parametrize("noted", [None, "", '{"n": "x"}', NONE_NOTED % "", NONE_NOTED % ', "to": 1'])
def test_lines_that_are_missing_with_the_head_that_noted_them_are_found(tmp_path: Path, noted: str | None) -> None:
    whole = lines(written(tmp_path))
    (tmp_path / CURRENT).write_bytes(b"".join(whole[:3]))
    if noted is None:
        (tmp_path / HEAD).unlink()
    else:
        (tmp_path / HEAD).write_text(noted)
    assert any(HEAD in fault for fault in verify(tmp_path).faults)
    AuditLog(tmp_path).add(("sent", {}))  # which notes a head again
    assert any("were gone" in fault for fault in verify(tmp_path).faults)


def test_a_kill_before_the_first_head_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = AuditLog._note_head

    def killed(log: AuditLog, number: int, digest: str, to: int | None = None) -> None:
        if number == 0:
            note(log, number, digest, to)

    monkeypatch.setattr(AuditLog, "_note_head", killed)
    for _ in range(2):  # killed again, in the same place
        AuditLog(tmp_path).add(("sent", {}), ("sent", {}))
    assert json.loads((tmp_path / HEAD).read_text())["n"] == 0
    assert (verify(tmp_path).faults, verify(tmp_path).lines) == ([], 4)


@pytest.mark.parametrize("line", range(6))
def test_a_deleted_line_is_found(tmp_path: Path, line: int) -> None:
    whole = lines(written(tmp_path))
    (tmp_path / CURRENT).write_bytes(b"".join(whole[:line] + whole[line + 1 :]))
    assert verify(tmp_path).faults


@pytest.mark.parametrize("line", range(5))
def test_two_lines_that_changed_places_are_found(tmp_path: Path, line: int) -> None:
    whole = lines(written(tmp_path))
    whole[line], whole[line + 1] = whole[line + 1], whole[line]
    (tmp_path / CURRENT).write_bytes(b"".join(whole))
    assert verify(tmp_path).faults


@pytest.mark.slow
def test_any_changed_byte_is_found(tmp_path: Path) -> None:
    content = bytearray(b"".join(lines(written(tmp_path, 3))))
    rng = random.Random(0)
    for at in range(len(content) - 1):
        changed = bytearray(content)
        changed[at] ^= 1 << rng.randrange(8)
        (tmp_path / CURRENT).write_bytes(changed)
        assert verify(tmp_path).faults, at


def test_a_line_made_anew_with_its_own_hash_is_found(tmp_path: Path) -> None:
    from pfedgp_core.audit.line import line_of, parse_line

    whole = lines(written(tmp_path))
    before = parse_line(whole[1].strip())
    whole[2] = line_of(3, before["hash"], "sent", {"bytes": 999})[0]
    (tmp_path / CURRENT).write_bytes(b"".join(whole))
    assert any("another line 3" in fault for fault in verify(tmp_path).faults)


def test_a_log_that_was_made_anew_is_found_by_a_head_that_was_noted(tmp_path: Path) -> None:
    noted = verify(written(tmp_path / "a"))
    again = written(tmp_path / "b", 7)
    assert verify(again).faults == []
    assert verify(again, known=(noted.last, noted.head)).faults != []
    assert verify(tmp_path / "a", known=(noted.last, noted.head)).faults == []


def test_the_last_lines_cannot_be_dropped_even_if_others_follow(tmp_path: Path) -> None:
    whole = lines(written(tmp_path))
    (tmp_path / CURRENT).write_bytes(b"".join(whole[:4]))
    assert any("line 6" in fault for fault in verify(tmp_path).faults)
    AuditLog(tmp_path).add(("sent", {}))
    assert any("were gone" in fault for fault in verify(tmp_path).faults)


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_line_that_a_kill_has_cut_is_named_and_no_fault(tmp_path: Path, cut: int) -> None:
    written(tmp_path)
    with (tmp_path / CURRENT).open("ab") as file:
        file.write(lines(tmp_path)[0][:cut])
    found = verify(tmp_path)
    assert (found.faults, found.lines, len(found.torn)) == ([], 6, 1)
    AuditLog(tmp_path).add(("sent", {}))
    found = verify(tmp_path)
    assert (found.faults, found.lines, len(found.torn)) == ([], 8, 1)


def test_a_cut_end_that_was_cut_again_is_no_fault(tmp_path: Path) -> None:
    written(tmp_path)
    for part in (b'{"n":7', b"\n", b'{"event":"torn"'):
        with (tmp_path / CURRENT).open("ab") as file:
            file.write(part)
    AuditLog(tmp_path).add(("sent", {}))
    assert verify(tmp_path).faults == []
    assert len(verify(tmp_path).torn) == 1


def test_a_changed_last_line_is_no_cut_one(tmp_path: Path) -> None:
    whole = lines(written(tmp_path))
    (tmp_path / CURRENT).write_bytes(b"".join(whole[:5]) + whole[5].replace(b'"bytes":5', b'"bytes":6'))
    AuditLog(tmp_path).add(("sent", {}))
    assert any("were gone" in fault for fault in verify(tmp_path).faults)


def test_files_are_closed_by_size_and_the_chain_goes_on(tmp_path: Path) -> None:
    written(tmp_path, 20, most=1000)
    assert len(log_files(tmp_path)) == 4
    found = verify(tmp_path)
    assert (found.faults, found.lines) == ([], 20)
    log_files(tmp_path)[0].unlink()
    assert any("begins with line" in fault for fault in verify(tmp_path).faults)
    assert verify(tmp_path, archived=True).faults == []
    log_files(tmp_path)[1].unlink()
    assert any("follows line" in fault for fault in verify(tmp_path, archived=True).faults)


def test_several_processes_write_one_chain(tmp_path: Path) -> None:
    code = WRITER.format(str(tmp_path))
    code += "for i in range(20): log.add(('sent', {'bytes': i}))"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert (verify(tmp_path).faults, verify(tmp_path).lines) == ([], 60)


def test_kills_leave_a_log_that_goes_on(tmp_path: Path) -> None:
    code = WRITER.format(str(tmp_path))
    code += "while True: log.add(*[('sent', {'bytes': i, 'text': 'x' * 5000}) for i in range(20)])"
    for _ in range(4):
        before = _lines(verify(tmp_path))
        process = subprocess.Popen([sys.executable, "-c", code])
        while _lines(verify(tmp_path)) <= before:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert verify(tmp_path).faults == []


def _lines(found: Verified) -> int:
    return found.lines


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("")
    with pytest.raises(ArtefactError):
        AuditLog(tmp_path / "audit").add(("sent", {}))
