"""The course of an experiment: checks, the search for hyper-parameters, the cells of the table, the outputs."""

from collections.abc import Sequence
from pathlib import Path

from pfedgp.experiments.cells import Cell, Selection
from pfedgp.experiments.folder import ExperimentFolder
from pfedgp.experiments.outputs import Outputs, put_section
from pfedgp.experiments.runner import Runner
from pfedgp.experiments.search import choices, chosen
from pfedgp.experiments.specification import Experiment
from pfedgp.local.gpus import GPUShare, require_gpus
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.words import counted

__all__ = ["collect", "run"]


def run(
    experiment: Experiment,
    selection: Selection,
    out: Path,
    search: bool,
    jobs: int,
    gpus: int = 0,
    page: Path | None = None,
) -> int:
    """Run the cells that have no result yet, and write the tables.

    Parameters
    ----------
    experiment : Experiment
    selection : Selection
    out : Path
        The experiment's folder.
    search : bool
        Choose hyper-parameters first.
    jobs, gpus : int
        Cells side by side, and the GPUs that they share.
    page : Path, optional
        Takes the section.

    Returns
    -------
    int
        1 where a cell failed, else 0.

    Raises
    ------
    PFedGPError
        Nothing could be run; the text says why.
    KeyboardInterrupt
        Ctrl-C or SIGTERM came. The same call goes on where it was.
    """
    require_gpus(gpus)
    folder = ExperimentFolder(out)
    with folder.lock():
        folder.claim(experiment, selection, search)
        outputs = Outputs(folder, experiment, selection, search)
        runner = Runner(folder, GPUShare.here(jobs, gpus), experiment.metric, outputs.write_tables)
        print(f"{experiment.title}: {counted(len(outputs.cells), 'run')}, {jobs} side by side, in {folder.path}")
        failed = 0
        if search:
            wanted = selection.search_cells(experiment)
            _print_grids(experiment, selection, len(wanted))
            check_data([*wanted, *outputs.cells])
            failed += runner.run(wanted)
        else:
            check_data(outputs.cells)
        _choose(outputs, experiment, selection, search)
        failed += runner.run([cell for cell in outputs.cells if not cell.of])
        failed += runner.run([cell for cell in outputs.cells if cell.of])
        outputs.write_tables()
        outputs.write_figure()
    _tell(outputs, experiment, page)
    if failed:
        print(f"{counted(failed, 'run')} failed; see table.md, and the same call tries them again.", flush=True)
    return 1 if failed else 0


def collect(experiment: Experiment, selection: Selection, out: Path, search: bool, page: Path | None = None) -> int:
    """Write the tables of the results that there are, also while another process makes more; 0."""
    folder = ExperimentFolder(out)
    if not folder.path.is_dir():
        raise ConfigError(f"There is no folder {folder.path}: give that of an experiment with --out.")
    folder.claim(experiment, selection, search, write=False)
    outputs = Outputs(folder, experiment, selection, search)
    _choose(outputs, experiment, selection, search)
    outputs.write_tables()
    outputs.write_figure()
    _tell(outputs, experiment, page)
    return 0


def check_data(cells: Sequence[Cell]) -> None:
    """Load each data set once, so that one that is missing is told before anything is started.

    Raises
    ------
    DataError
        Data are missing or damaged; the text has the remedy.
    """
    from pfedgp_core.data.datasets import load_dataset

    for name, root in dict.fromkeys((cell.settings.dataset, cell.settings.data_root) for cell in cells):
        try:
            load_dataset(name, root)
        except DataError as error:
            raise DataError(f"{error} An experiment takes them from --data-root PATH.") from error


def _choose(outputs: Outputs, experiment: Experiment, selection: Selection, search: bool) -> None:
    if search:
        outputs.searched = choices(experiment, selection, outputs.result)
        outputs.cells = selection.cells(experiment, chosen(experiment, selection, outputs.searched))


def _print_grids(experiment: Experiment, selection: Selection, runs: int) -> None:
    print(f"Searching hyper-parameters on validation data, {counted(runs, 'run')}:")
    for name in selection.rows:
        for key, values in experiment.rows[name].grid.items():
            print(f"  {name}: {key} = {', '.join(map(str, values))}")


def _tell(outputs: Outputs, experiment: Experiment, page: Path | None) -> None:
    section = outputs.page()
    print(f"\n{section}", flush=True)
    if page is not None:
        put_section(page, experiment.name, section)
