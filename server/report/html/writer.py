"""Writing the report: the page, and its figures as files for papers and slides."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pfedgp_core.checks import MALFORMED
from pfedgp_core.errors import ArtefactError, ConfigError, DamagedStateError, PFedGPError
from pfedgp_core.files.regular import one_line
from pfedgp_core.words import few
from server.report.drawing import Drawing
from server.report.figures import confusion_map, reliability, reliability_grid
from server.report.html.model_card import card_text, model_card
from server.report.html.page import page, round_figures
from server.report.html.run_files import RunFiles, read_run, worst_first
from server.report.reporters import Reporter
from server.run.files import CARD_FILES, explained, write_whole

__all__ = ["ReportWriter", "figures", "of_files", "write_report"]

MOST_IN_GRID = 60  # clients in one picture
_log = logging.getLogger("pfedgp")


class ReportWriter(Reporter):
    """Writes the report once the run is over, whether it has a result or not."""

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Write it."""
        write_report(path)

    def fail(self, summary: Mapping[str, Any], path: Path) -> None:
        """Write it, with what there is."""
        write_report(path)


def write_report(path: Path, out: Path | None = None, positive_class: str = "") -> Path:
    """Write ``report.html``, the model card and the folder ``figures`` of a run.

    Parameters
    ----------
    path : Path
        The folder of the run.
    out : Path, optional
        Where to write the page instead of ``report.html`` in the run's folder.
    positive_class : str, optional
        In place of the run's own ``positive-class``.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DamagedStateError
        A file of the run is damaged.
    ArtefactError
        There is no run, or the page cannot be written.
    ConfigError
        The model has no such class.
    """
    run = read_run(path)
    if positive_class:
        known = run.calibration.class_names if run.calibration else []
        if positive_class not in known:
            raise ConfigError(f"positive-class = {positive_class!r} is no class of this run: give one of {few(known)}.")
        run.settings["positive-class"] = positive_class
    target = out or path / "report.html"
    text, card, drawn = page(run), model_card(run), figures(run)
    write_whole(target, text)
    try:
        texts = (card_text(run, card), json.dumps(card, indent=2, ensure_ascii=False) + "\n")
        for name, content in zip(CARD_FILES, texts, strict=True):
            write_whole(run.path / name, content)
        _write_figures(run.path / "figures", drawn)
    except ArtefactError as error:
        # The page holds the figures too, so a run's folder without rights to write is no reason to go without it.
        _log.warning("Figures and model card are not in the run's folder: %s", error)
    return target


@contextmanager
def of_files(path: Path) -> Iterator[None]:
    """Turn what a page cannot be made of into a DamagedStateError: a report is made of the run's files alone."""
    try:
        yield
    except PFedGPError:
        raise
    except (ArithmeticError, *MALFORMED) as error:
        raise DamagedStateError(
            f"The files of the run {path} do not hold what a report shows ({type(error).__name__}: {one_line(error)}): "
            "restore them from a copy."
        ) from error


def figures(run: RunFiles) -> dict[str, Drawing]:
    """Return the figures of a run by the names of their files."""
    drawn = round_figures(run)
    calibration = run.calibration
    if calibration is None:
        return drawn
    drawn["reliability"] = reliability("Reliability, all clients", calibration.pooled)
    order = [row["name"] for row in worst_first(run.clients) if row.get("name") in calibration.clients]
    clients = [(name, calibration.clients[name]) for name in order[:MOST_IN_GRID]]
    if clients:
        drawn["reliability_clients"] = reliability_grid(clients)
    if calibration.confusion:
        counts = {(true, predicted): n for true, predicted, n in calibration.confusion}
        drawn["confusion"] = confusion_map(calibration.class_names, counts)
    return drawn


def _write_figures(folder: Path, drawn: Mapping[str, Drawing]) -> None:
    with explained(folder):
        folder.mkdir(exist_ok=True)
    for name, drawing in drawn.items():
        write_whole(folder / f"{name}.svg", drawing.svg_file())
        write_whole(folder / f"{name}.png", drawing.png())
