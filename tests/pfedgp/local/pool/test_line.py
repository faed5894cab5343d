"""The line between a pool's driver and a worker: large messages pass, and the end of either side is heard."""

import threading

import pytest

from pfedgp.local.pool.line import LONG, SHELF, WIDTH, make_line


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


def test_what_lies_on_the_shelf_arrives_whole_and_stays_what_it_was_when_the_next_comes() -> None:
    here, there = make_line()
    sizes = (0, LONG - 1, LONG, SHELF // 2, SHELF // 2, SHELF + 1)  # one more than there is room for, and one too long
    first, second = ([bytes([letter]) * size for size in sizes] for letter in b"xy")
    echo = threading.Thread(target=lambda: [there.send(there.recv()) for _ in range(2)])
    echo.start()
    here.send(first)
    answer = here.recv()
    here.send(second)
    assert here.recv() == second
    assert answer == first
    echo.join()
    here.close()
    there.close()


def test_long_values_do_not_go_through_the_pipe() -> None:
    here, there = make_line()
    here.send(bytes(SHELF))  # nobody reads: it would wait for ever if the pipe had to hold it
    assert there.recv() == bytes(SHELF)
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
