"""Runs cells side by side, keeps what each gives, and ends within seconds when it is told to."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.folder import ExperimentFolder
from pfedgp.experiments.process import CellProcess, stop_all
from pfedgp.experiments.progress import Progress
from pfedgp.experiments.result import COMPLETED, completed_result, failed_result
from pfedgp.local.gpus import GPUShare
from pfedgp.processes.signals import interrupted

__all__ = ["Runner"]

LOOK = 0.1  # seconds


@dataclass(frozen=True)
class Runner:
    """Runs cells.

    Attributes
    ----------
    folder : ExperimentFolder
        Locked by this process.
    share : GPUShare
        Of ``workers`` cells side by side.
    metric : str
        Told of each cell.
    after : callable
        Called when a cell has ended.
    """

    folder: ExperimentFolder
    share: GPUShare
    metric: str
    after: Callable[[], object]

    def run(self, cells: Sequence[Cell]) -> int:
        """Run those without a result, and again those that failed; return how many fail.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C or SIGTERM came; the cells that were running go on from their last round in the next call.
        """
        waiting = [cell for cell in cells if not self._completed(cell)]
        progress = Progress(waiting, len(cells) - len(waiting), self.metric)
        running: dict[int, CellProcess] = {}
        failed = 0
        with interrupted():
            try:
                while waiting or running:
                    for place in range(self.share.workers):
                        if waiting and place not in running:
                            running[place] = CellProcess(self.folder, waiting.pop(0), self.share.device(place))
                    time.sleep(LOOK)
                    for place, process in [*running.items()]:
                        if process.ended():
                            failed += not self._keep(process, progress)
                            del running[place]
                    progress.running({process.cell: process.rounds for process in running.values()})
            except KeyboardInterrupt:
                print("The same call goes on where this one was.", flush=True)
                raise
            finally:
                stop_all([*running.values()])
        return failed

    def _completed(self, cell: Cell) -> bool:
        result = self.folder.result(cell)
        return result is not None and result["status"] == COMPLETED

    def _keep(self, process: CellProcess, progress: Progress) -> bool:
        """Keep what a cell gave; whether that is a result."""
        cell, completed = process.cell, process.completed()
        result = failed_result(cell, process.reason()) if not completed else completed_result(cell, process.run)
        self.folder.keep(cell, result)
        if completed:
            process.tidy()
        progress.ended(cell, result, time.monotonic() - process.began)
        self.after()
        return completed
