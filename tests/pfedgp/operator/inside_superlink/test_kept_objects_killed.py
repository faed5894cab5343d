"""A SuperLink that is killed at any of its writes loses no message, and leaves no file of one.

The kill is an exception that nothing catches, before or after the n-th change of a file: the database's transaction is
undone, as SQLite undoes that of a process that has died. All sides then do what they do: whatever had no answer is
tried again, on the next SuperLink.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pfedgp.operator.inside_superlink import message_files
from tests.pfedgp.operator.inside_superlink import test_carried_objects as carried
from tests.pfedgp.operator.inside_superlink.test_filed_objects import files_in


class Killed(BaseException):
    """SIGKILL."""


class Kill:
    """Lets a change of a file be the last thing that a process does."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left, self.after = -1, False
        patch.setattr(message_files, "write_object", self.killing(message_files.write_object))
        patch.setattr(Path, "unlink", self.killing(Path.unlink))

    def killing(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changing(path: Path, *args: Any, **kwargs: Any) -> Any:
            if path.parent.name != "messages":
                return change(path, *args, **kwargs)
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Killed
            change(path, *args, **kwargs)
            if self.left == 0:
                raise Killed
            return None

        return changing


class Round:
    """Two requests that share an object, and the reply to each; every step is tried until it has an answer."""

    def __init__(self, database: str) -> None:
        self.database, self.deaths = database, 0
        self.link = carried.SuperLink(database)
        self.run = self.link.start_run()
        self.nodes = [self.link.register(b"a"), self.link.register(b"b")]

    def attempt(self, step: Callable[[], Any]) -> Any:
        while True:
            try:
                return step()
            except Killed:
                self.deaths += 1
                self.link = carried.SuperLink(self.database)

    def goes_through(self) -> None:
        requests = [carried.request_to(self.run, node) for node in self.nodes]
        for request in requests:
            contents = carried.contents_of(request)
            assert self.attempt(lambda r=request, c=contents: self.link.send(self.run, r, c)) == []
        replies = [carried.reply_to(request) for request in requests]
        for node, request, reply in zip(self.nodes, requests, replies, strict=True):
            assert self.attempt(lambda n=node: self.link.look(n)) == carried.contents_of(request)
            self.attempt(lambda r=request: self.link.confirm(self.run, r.object_id))
            contents = carried.contents_of(reply)
            assert self.attempt(lambda n=node, r=reply, c=contents: self.link.reply(n, r, c)) == []
        for request, reply in zip(requests, replies, strict=True):
            self.attempt(lambda r=request: self.link.fetch(self.run, r.metadata.message_id))
            # A SuperLink that has just started does not know yet that this server app takes objects with messages.
            contents = carried.contents_of(reply)
            assert {each: self.link.state.get_object(self.run, each) for each in contents} == contents
            self.attempt(lambda r=reply: self.link.received(self.run, r.object_id))


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
def test_no_kill_loses_a_message(
    after: bool, kept: Path, tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = Kill(monkeypatch)
    for moment in range(1, 100):
        database = str(shutil.copy(empty, tmp_path / f"{moment}.db"))
        kill.left = -1
        round_ = Round(database)
        kill.left, kill.after = moment, after
        round_.goes_through()
        assert files_in(kept) == []
        assert len(round_.link.store) == 0
        if round_.deaths == 0:
            break
    assert moment > 20
