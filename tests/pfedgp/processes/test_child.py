"""Children of a process: what they are given, and that they end with it."""

import ast
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pfedgp.processes.child import signal_group, start_child
from tests.deploy.program import is_alive
from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
SLEEP = "import time; print('ready', flush=True); time.sleep(600)"


def output(code: str, folder: Path | None = None, **environment: str) -> str:
    """What a child prints."""
    child = start_child([sys.executable, "-c", code], os.environ | environment, subprocess.PIPE, folder=folder)
    return child.communicate(timeout=60)[0].decode().strip()


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or ends soon."""
    return wait_for(lambda: not is_alive(pid), 30, "the end of the process", every=0.05)


def test_a_child_has_its_environment() -> None:
    assert output("import os; print(os.environ['WARD'])", WARD="3") == "3"


def test_a_child_has_its_folder(tmp_path: Path) -> None:
    assert output("import os; print(os.getcwd())", tmp_path) == str(tmp_path)


def test_a_child_leads_a_session_of_its_own() -> None:
    assert output("import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())") == "True"


def test_a_child_is_the_program_itself() -> None:
    child = start_child([sys.executable, "-c", SLEEP], os.environ, subprocess.PIPE)
    try:
        assert child.stdout
        assert child.stdout.readline() == b"ready\n"
        assert Path(f"/proc/{child.pid}/cmdline").read_bytes().split(b"\0")[1] == b"-c"
    finally:
        child.kill()
        child.communicate()


def test_a_pipe_that_is_closed_ends_a_child() -> None:
    # Python itself ignores SIGPIPE, and a program that is not Python would then go on for ever.
    shell = start_child(["/bin/sh", "-c", "kill -PIPE $$; echo ignored"], os.environ, subprocess.PIPE)
    assert shell.communicate(timeout=60)[0] == b""


def test_a_program_that_is_not_there_is_named() -> None:
    child = start_child(["/nowhere/at/all"], os.environ, subprocess.PIPE)
    assert child.communicate(timeout=60)[0] == b"Cannot start /nowhere/at/all (No such file or directory).\n"


def test_a_child_ends_with_a_parent_that_is_killed() -> None:
    code = (
        "import os, subprocess, sys, time; from pfedgp.processes.child import start_child\n"
        f"child = start_child([sys.executable, '-c', {SLEEP!r}], os.environ, subprocess.PIPE)\n"
        "child.stdout.readline(); print(child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        child = int(process.stdout.readline())
        process.kill()
    assert is_gone(child)


def test_a_child_of_a_parent_that_is_gone_already_ends() -> None:
    file = Path(sys.modules["pfedgp.processes.child"].__file__ or "").with_name("parent.py")
    stranger = [sys.executable, "-I", "-S", str(file), "1", str(int(signal.SIGTERM)), sys.executable, "-c", SLEEP]
    done = subprocess.run(stranger, capture_output=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGTERM


def test_a_child_starts_while_other_threads_work() -> None:
    ended = threading.Event()
    threads = [threading.Thread(target=lambda: [None for _ in iter(ended.is_set, True)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        assert output("print('ready')") == "ready"
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_group_is_signalled_after_its_leader_has_ended() -> None:
    code = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid, flush=True)"
    leader = start_child([sys.executable, "-c", code], os.environ, subprocess.PIPE)
    assert leader.stdout
    member = int(leader.stdout.readline())
    leader.wait(60)
    signal_group(leader, signal.SIGKILL)
    leader.stdout.close()
    assert is_gone(member)


def test_a_group_that_is_gone_is_no_error() -> None:
    leader = start_child([sys.executable, "-c", ""], os.environ, subprocess.DEVNULL)
    leader.wait(60)
    signal_group(leader, signal.SIGKILL)


@pytest.mark.parametrize("package", ["client", "pfedgp", "pfedgp_core", "server"])
def test_no_code_runs_between_fork_and_exec(package: str) -> None:
    """Another thread may hold a lock at the fork, and the child would wait for it for ever."""
    found = [
        f"{path}:{node.value.lineno}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "preexec_fn"
    ]
    assert found == []
