"""The log of a run that is followed."""

import pytest

from pfedgp.operator.follow import Printed

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


def test_pieces_of_a_log_become_whole_lines_without_colours_and_tracebacks() -> None:
    lines: list[str] = []
    printed = Printed(lines.append)

    for piece in (
        "round 1/2  2 o",
        "k\nround 2/2\n\x1b[91mWARN\x1b[0m x\n",
        'Traceback (most recent call last):\n  File "a"\n',
    ):
        printed.add(piece)
    printed.add("    f()\npfedgp_core.errors.RunFailedError: no client left\nlast")
    printed.end()

    assert lines == ["round 1/2  2 ok", "round 2/2", "WARN x", "last"]
    assert printed.cause == "pfedgp_core.errors.RunFailedError: no client left"
