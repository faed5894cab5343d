"""Checks that wait on an accelerator: to look at a result, the host must stop until the device has caught up.

Between the start and the end of `deferred`, a condition on a device counts as true. At the end all of them are looked
at together; where one is false, the caller does the work again without deferring, and every check is made as on a CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

__all__ = ["Checks", "deferred", "holds"]


class Checks:
    """The conditions that were taken as true.

    Parameters
    ----------
    everywhere : bool
        Defer on a CPU too, where it gains nothing; for tests.
    """

    def __init__(self, everywhere: bool = False) -> None:
        self.everywhere = everywhere
        self.conditions: list[Tensor] = []

    def settle(self, value: Tensor) -> tuple[bool, float]:
        """Whether all conditions are true, and a 0-d value: one transfer from the device for both."""
        good = torch.stack([*self.conditions, torch.ones_like(value, dtype=torch.bool)]).all()
        true, number = torch.stack([good.double(), value.detach().double()]).tolist()
        return bool(true), number


_checks: ContextVar[Checks | None] = ContextVar("checks", default=None)


@contextmanager
def deferred(everywhere: bool = False) -> Iterator[Checks]:
    """Take the conditions of `holds` as true within the block."""
    checks = Checks(everywhere)
    token = _checks.set(checks)
    try:
        yield checks
    finally:
        _checks.reset(token)


def holds(condition: Tensor) -> bool:
    """Whether a 0-d tensor of bool is true, or may be taken as true until the checks are settled."""
    checks = _checks.get()
    if checks is None or (condition.device.type == "cpu" and not checks.everywhere):
        return bool(condition)
    checks.conditions.append(condition)
    return True
