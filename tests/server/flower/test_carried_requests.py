"""What a deployment's grid sends with its requests, and takes with their replies, in place of calls for objects."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message
from flwr.supercore.inflatable.inflatable_object import get_object_id

from pfedgp_core.files.object_files import ObjectFiles
from pfedgp_core.wire.carried import FILED, LARGEST, OBJECTS_FOLDER, attach, detach
from server.flower.messages import Packed, exchange, request
from tests.server.flower.test_deployed_grid import SuperLink, grid_at

VALUES = np.arange(2**21, dtype=np.float32)  # 8 MB: one piece that is large and one that is not


class Carrying(SuperLink):
    """A SuperLink that takes and gives objects with messages; with a folder also as files."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self.files = None if folder is None else ObjectFiles(folder)
        self.carried: list[dict[str, bytes]] = []
        self.calls: list[str] = []

    def PushMessages(self, asked: Any) -> Any:
        for message in asked.messages_list:
            self.carried.append(detach(message))
        contents = {key: content for each in self.carried for key, content in each.items()}
        for key, content in contents.items():
            if content == FILED:
                assert self.files is not None
                assert self.files.adopt(key, lambda _: True)
                self.stored[key] = self.files.read(key) or b""
            else:
                self.stored[key] = content
        return super().PushMessages(asked)

    def PushObject(self, asked: Any) -> Any:
        self.calls.append("PushObject")
        return super().PushObject(asked)

    def PullMessages(self, asked: Any) -> Any:
        answer = super().PullMessages(asked)
        for message in answer.messages_list:
            attach(message, self._given())
        return answer

    def PullObject(self, asked: Any) -> Any:
        self.calls.append("PullObject")
        return super().PullObject(asked)

    def _given(self) -> dict[str, bytes]:
        return {key: self._objects[key] for key in self._objects}


def requests(*nodes: int, vector: np.ndarray | None = None) -> list[Message]:
    packed = None if vector is None else Packed(vector)
    return [request("train", node, ConfigRecord({"round": 3}), packed, 60.0) for node in nodes]


def test_small_requests_and_replies_need_no_call_for_an_object() -> None:
    superlink = Carrying()
    replies = list(exchange(grid_at(superlink), requests(1, 2), 30.0))
    assert sorted(reply.content["node"]["id"] for reply in replies) == [1, 2]  # type: ignore[index]
    assert superlink.calls == []
    assert len(superlink.carried[0]) == 4  # two messages with the same record of one config
    assert superlink.carried[1] == {}
    assert all(get_object_id(content) == key for key, content in superlink.carried[0].items())


def test_a_superlink_that_knows_of_none_gets_all_objects_by_calls() -> None:
    superlink = SuperLink()
    assert len(list(exchange(grid_at(superlink), requests(1), 30.0))) == 1
    assert len(superlink.stored) >= 2


@pytest.mark.parametrize("beside", [False, True])
def test_large_objects_are_files_where_both_see_the_folder(
    beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OBJECTS_FOLDER, str(tmp_path) if beside else "")
    superlink = Carrying(tmp_path)
    messages = requests(1, vector=VALUES)
    assert len(list(exchange(grid_at(superlink), messages, 30.0))) == 1
    large = {key for key, content in superlink.stored.items() if len(content) > LARGEST}
    assert len(large) == 1
    assert [superlink.carried[0].get(key) == FILED for key in large] == [beside]
    if beside:
        assert [path.name for path in tmp_path.iterdir()] == list(large)
    assert all(get_object_id(content) == key for key, content in superlink.stored.items())


def test_no_room_for_a_file_sends_it_by_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OBJECTS_FOLDER, str(tmp_path / "gone"))
    superlink = Carrying()
    assert len(list(exchange(grid_at(superlink), requests(1, vector=VALUES), 30.0))) == 1
    assert superlink.calls[:1] == ["PushObject"]


@pytest.mark.parametrize("there", [False, True])
def test_a_reply_is_read_from_files_and_else_by_calls(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Filing(Carrying):
        def _given(self) -> dict[str, bytes]:
            if there:
                assert self.files is not None
                assert all(self.files.keep(key, content) for key, content in self._objects.items())
            return dict.fromkeys(self._objects, FILED)

    monkeypatch.setenv(OBJECTS_FOLDER, str(tmp_path))
    superlink = Filing(tmp_path)
    (reply,) = exchange(grid_at(superlink), requests(5), 30.0)
    assert reply.content["node"]["id"] == 5  # type: ignore[index]
    assert superlink.calls.count("PullObject") == (0 if there else 3)


def test_objects_that_are_not_whole_come_by_calls() -> None:
    class Partly(Carrying):
        def _given(self) -> dict[str, bytes]:
            return dict(list(self._objects.items())[:1])

    superlink = Partly()
    (reply,) = exchange(grid_at(superlink), requests(5), 30.0)
    assert reply.content["node"]["id"] == 5  # type: ignore[index]
    assert superlink.calls.count("PullObject") == 2


def test_nothing_is_sent_for_no_request() -> None:
    superlink = Carrying()
    assert list(grid_at(superlink).push_messages([])) == []
    assert superlink.carried == []
