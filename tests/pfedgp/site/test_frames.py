"""Python objects over a socket: of any size, and whole or not at all."""

import socket
import threading

import pytest

from pfedgp.site import frames


def test_objects_of_any_size_pass_a_socket() -> None:
    left, right = socket.socketpair()
    values = [None, {"a": (1, "b")}, b"x" * 3_000_000]
    with left, right:
        writer = threading.Thread(target=lambda: [frames.send(left, value) for value in values])
        writer.start()
        assert [frames.receive(right) for _ in values] == values
        writer.join()


@pytest.mark.parametrize("cut", [0, 3, 8, 20])
def test_an_object_that_is_cut_off_is_no_object(cut: int) -> None:
    left, right = socket.socketpair()
    with right:
        with left:
            sent, received = socket.socketpair()
            with sent, received:
                frames.send(sent, list(range(100)))
                whole = received.recv(1 << 16)
            left.sendall(whole[:cut])
        with pytest.raises(EOFError):
            frames.receive(right)
