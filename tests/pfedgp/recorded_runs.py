"""Runs that ``pfedgp simulate`` would have started, and what it prints of a mistake."""

from pathlib import Path
from typing import Any

import pytest

from pfedgp.local.resources import Resources
from pfedgp_core.config import Settings
from server.outputs import Outputs


class Runs(list[tuple[Settings, Path, int | None]]):
    """Stands for ``pfedgp.local.simulation``; keeps what it was called with."""

    outcome: Any = None
    outputs: Outputs | None = None
    resources: Resources | None = None

    def run_simulation(
        self, settings: Settings, out_dir: Path, resources: Resources, outputs: Outputs | None = None
    ) -> dict[str, Any]:
        self.append((settings, out_dir, resources.workers))
        self.resources = resources
        self.outputs = outputs
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome or {"status": "completed"}


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("pfedgp: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err
