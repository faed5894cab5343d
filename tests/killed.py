"""Kills a run where a test wants it, with SIGKILL in a forked process, so that nothing is cleaned up or closed."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from flwr.app import Message

from pfedgp_core.files import whole as whole_file
from pfedgp_core.wire.names import CONFIG, ROUND
from server.run import files
from tests.fakegrid import Tamper

__all__ = ["at_call", "at_message", "die", "dies_at_file", "dies_at_step", "finished", "half_a_line", "killed"]


def die() -> NoReturn:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def killed(run: Callable[[], Any]) -> None:
    """Do `run` in a forked process, which must not reach its end."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            run()
        except BaseException:  # noqa: BLE001 (the child never returns)
            os._exit(3)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status), f"the run was not killed: {status}"
    assert os.WTERMSIG(status) == signal.SIGKILL, f"the run was not killed: {status}"


def finished(run: Callable[[], Any]) -> bool:
    """Do `run` in a forked process; False where it was killed before its end."""
    try:
        killed(run)
    except AssertionError:
        return True
    return False


def dies_at_file(name: str, step: str, after: bool = False) -> Any:
    """A context in which the process dies at a step of writing the file whose path ends in `name`.

    Before ``to-disk`` half of the file's new content is lost, as it is where the system writes it back in pieces.
    """

    # A file that is on its way to the disk has another name: with a dot before it, and without the suffix, which is
    # taken off below.
    def check(which: str, path: Path, is_after: bool) -> None:
        final = path.with_name(path.name.removeprefix(".")) if which == "to-disk" else path
        if which == step and is_after == after and str(final).endswith(name):
            if step == "to-disk" and not after:
                partial = path.with_name(f"{path.name}.partial")
                os.truncate(partial, partial.stat().st_size // 2)
            die()

    return _watched(check)


def dies_at_step(number: int) -> Any:
    """A context in which the process dies at the `number`-th moment before or after a step of writing any file."""
    count = 0

    def check(which: str, path: Path, is_after: bool) -> None:
        nonlocal count
        if count == number:
            die()
        count += 1

    return _watched(check)


def _watched(check: Callable[[str, Path, bool], None]) -> Any:
    """Call `check` with step, path and whether it is over, before and after each step of writing a file."""
    real = {"to-disk": whole_file.to_disk, "replace": os.replace, "link": os.link}

    def to_disk(file: Any) -> None:
        path = Path(file.name)
        file.flush()
        check("to-disk", Path(str(path).removesuffix(".partial")), False)
        real["to-disk"](file)
        check("to-disk", Path(str(path).removesuffix(".partial")), True)

    def moving(step: str) -> Callable[[Path, Path], None]:
        def move(source: Path, target: Path) -> None:
            check(step, Path(target), False)
            real[step](source, target)
            check(step, Path(target), True)

        return move

    patched = mock.patch.multiple(os, replace=moving("replace"), link=moving("link"))
    stack = mock.patch.object(whole_file, "to_disk", to_disk)

    class Both:
        def __enter__(self) -> None:
            patched.start()
            stack.start()

        def __exit__(self, *reason: object) -> None:
            stack.stop()
            patched.stop()

    return Both()


def at_message(kind: str, server_round: int) -> Tamper:
    """A tamper that kills the run when the second client answers a certain request."""
    seen: list[int] = []

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if (request.metadata.message_type, request.content.config_records[CONFIG][ROUND]) == (kind, server_round):
            seen.append(index)
            if len(seen) == 2:
                die()
        return reply

    return tamper


def at_call(module: Any, name: str, call: int) -> Any:
    """A context in which the process dies in the `call`-th call of a function."""
    real, calls = getattr(module, name), []

    def dying(*arguments: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == call:
            die()
        return real(*arguments, **options)

    return mock.patch.object(module, name, dying)


def half_a_line(server_round: int) -> Any:
    """A context in which the process dies when half of a round's line is in ``metrics.jsonl``."""
    real = files.append_line

    def dying(path: Path, line: str) -> None:
        if json.loads(line)["round"] == server_round:
            with path.open("ab") as file:
                file.write(line.encode()[: len(line) // 2])
                file.flush()
                os.fsync(file.fileno())
            die()
        real(path, line)

    return mock.patch("server.run.artefacts.append_line", dying)
