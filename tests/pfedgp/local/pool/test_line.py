"""The line between a pool's driver and a worker: large messages pass, and the end of either side is heard."""

import threading

import pytest

from pfedgp.local.pool.line import WIDTH, make_line


def test_messages_of_any_size_pass_both_ways() -> None:
    here, there = make_line()
    large = bytes(range(256)) * (3 * WIDTH // 256)
    echo = threading.Thread(target=lambda: [there.send(there.recv()) for _ in range(2)])
    echo.start()
    for sent in ("a", ("b", large)):
        here.send(sent)
        assert here.recv() == sent
    echo.join()
    here.close()
    there.close()


def test_who_listens_hears_that_the_other_end_is_closed() -> None:
    here, there = make_line()
    there.close()
    with pytest.raises(EOFError):
        here.recv()
    with pytest.raises(OSError, match="pipe"):
        here.send("a")
    here.close()


def test_an_end_may_be_closed_twice() -> None:
    here, there = make_line()
    for end in (here, here, there, there):
        end.close()
