"""The peak memory of what promises to keep to a bound, each measured on this machine in a process of its own.

    python scripts/peak_memory.py                          # all four: a quarter of an hour on two cores
    python scripts/peak_memory.py predict --rows 1000000   # one of update, site, predict, serve

``update``   a client's update and evaluation by ip-compute, 100 inducing inputs in all, on 100,000 colour images
``site``     a connected site that has not been asked for anything
``predict``  ``pfedgp predict`` on a hundredth of the rows and on all of them, from CSV, Parquet and .npz
``serve``    ``pfedgp serve`` after a thousand single requests, and the time of one

Exit code 1: a bound is exceeded. MB are of 1e6 bytes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

BOUNDS = {"update": 1600.0, "site": 350.0}  # MB
GROWTH = 1.1  # of the peak, from a hundredth of the rows to all of them
COLUMNS = 10
WORKER = "pfedgp.site.worker"
MB = 1e6


def peak_of(argv: list[str]) -> float:
    """MB of resident memory that a command has taken at most."""
    process = subprocess.Popen([sys.executable, "-m", "pfedgp", *argv], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pfedgp {' '.join(argv)} ended with {process.returncode}")
    return used.ru_maxrss * 1024 / MB


def update(arguments: argparse.Namespace) -> bool:
    """Peak of a large client; measured within the process, so that what came before counts with what it still holds."""
    file = arguments.folder / "bench.json"
    samples = str(arguments.samples)
    peak_of(["bench", "--variant", "ip-compute", "--classes", "2", "--n", samples, "--json", str(file)])
    (case,) = json.loads(file.read_text())["cases"]
    print(
        f"update: ip-compute, {case['n']:,} samples: {case['update_peak_mb']:.0f} MB in the update, "
        f"{case['peak_mb']:.0f} MB with the evaluation (bound {BOUNDS['update']:.0f})"
    )
    return bool(case["peak_mb"] <= BOUNDS["update"])


def site(arguments: argparse.Namespace) -> bool:
    """Memory of an idle site, by process; what processes share is divided among them."""
    from pfedgp.benchmarking.deployment import DeployedCase, Deployment
    from pfedgp.benchmarking.process_costs import below, megabytes_of

    with ExitStack() as stack:
        bench = Deployment(arguments.folder, DeployedCase(1, stock=False, database=False), stack)
        bench.server()
        (root,) = bench.sites()
        started = sum(megabytes_of([process]) for process in below(root))
        while any(role_of(process) == WORKER for process in below(root)):
            time.sleep(1)
        parts = {role_of(process): megabytes_of([process]) for process in below(root)}
    total = sum(parts.values())
    named = ", ".join(f"{name} {mb:.0f}" for name, mb in parts.items())
    print(
        f"site: {total:.0f} MB two minutes after its start without a message ({named}; bound {BOUNDS['site']:.0f}); "
        f"{started:.0f} MB while its worker is there"
    )
    return total <= BOUNDS["site"]


def role_of(process: int) -> str:
    """The module that a process runs."""
    words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return words[words.index(b"-m") + 1].decode() if b"-m" in words else "supervisor"


def predict(arguments: argparse.Namespace) -> bool:
    """Peaks of `pfedgp predict` on few rows and on a hundred times as many."""
    folder = arguments.folder
    make_site(folder / "site")
    good = True
    for suffix, write in WRITERS.items():
        peaks = []
        for rows in (arguments.rows // 100, arguments.rows):
            data = folder / f"{rows}{suffix}"
            write(data, np.random.default_rng(0).normal(size=(rows, COLUMNS)).astype(np.float32))
            began = time.monotonic()
            options = ("--site", str(folder / "site"), "--data", str(data), "--out", str(folder / "p.csv"))
            peaks.append(peak_of(["predict", *options]))
            seconds = time.monotonic() - began
            data.unlink()
        good &= peaks[1] <= GROWTH * peaks[0]
        print(
            f"predict, {suffix}: {peaks[0]:.0f} MB for {arguments.rows // 100:,} rows, {peaks[1]:.0f} MB for "
            f"{arguments.rows:,} in {seconds:.0f} s (bound {GROWTH:g} times the first)"
        )
    return good


def write_csv(path: Path, table: np.ndarray) -> None:
    """A table with a line of names."""
    with path.open("w") as file:
        file.write(",".join(f"c{i}" for i in range(table.shape[1])) + "\n")
        np.savetxt(file, table, fmt="%.6g", delimiter=",")


def write_parquet(path: Path, table: np.ndarray) -> None:
    """The same in Parquet."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({f"c{i}": column for i, column in enumerate(table.T)}), path)


WRITERS: dict[str, Callable[[Path, np.ndarray], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".npz": lambda path, table: np.savez_compressed(path, x=table),
}


def serve(arguments: argparse.Namespace) -> bool:
    """Memory of a resident site, and what a single prediction takes; a figure, without a bound."""
    from pfedgp.benchmarking.process_costs import megabytes_of
    from pfedgp.processes.flower import free_ports

    folder = arguments.folder
    if not (folder / "site").exists():
        make_site(folder / "site")
    (port,) = free_ports(1)
    with serving(folder / "site", port) as process:
        token = (folder / "site.token").read_text().strip()
        before = megabytes_of([process])
        seconds = [ask(port, token) for _ in range(1000)]
        after = megabytes_of([process])
    low, middle, high = (1000 * q for q in statistics.quantiles(seconds, n=4))
    print(
        f"serve: {before:.0f} MB at the start, {after:.0f} MB after 1,000 requests of one sample; one takes "
        f"{middle:.1f} ms ({low:.1f} to {high:.1f})"
    )
    return after <= GROWTH * before


@contextmanager
def serving(site_folder: Path, port: int) -> Iterator[int]:
    """A resident site; yields its process id."""
    argv = [sys.executable, "-m", "pfedgp", "serve", "--site", str(site_folder), "--port", str(port)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.terminate()


def ask(port: int, token: str) -> float:
    """Seconds of a request with one sample."""
    body = json.dumps({"inputs": [[0.1] * COLUMNS]}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/predict", body, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    began = time.perf_counter()
    with opener.open(request) as answer:
        answer.read()
    return time.perf_counter() - began


def make_site(path: Path) -> None:
    """A site on a table, of an untrained model: what it costs does not depend on what it knows."""
    from pfedgp_core.config import Settings
    from pfedgp_core.data.samples import Split
    from pfedgp_core.model.shared import SharedState
    from pfedgp_core.site.samples import SiteSamples
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.trained_model import TrainedModel

    settings = Settings(network="mlp")
    vector = SharedState.initial(settings, (COLUMNS,), 2).to_vector()
    mean, std = np.zeros(COLUMNS, np.float32), np.ones(COLUMNS, np.float32)
    model = TrainedModel(vector, settings, ("ill", "well"), (COLUMNS,), mean, std)
    inputs = np.random.default_rng(1).normal(size=(100, COLUMNS)).astype(np.float32)
    split = Split(inputs, (inputs[:, 0] > 0).astype(np.int64))
    SavedSite.fit("site", model, SiteSamples.compute(split, model)).save(path)


PARTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "update": update,
    "site": site,
    "predict": predict,
    "serve": serve,
}


def main() -> int:
    """Measure what is asked for; 1 where a bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of predict")
    parser.add_argument("--samples", type=int, default=100_000, help="samples of update")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pfedgp-memory-") as name:
        arguments.folder = Path(name)
        good = [PARTS[part](arguments) for part in arguments.parts or PARTS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
