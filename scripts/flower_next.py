"""Whether pFedGP works with the newest Flower: a simulation and, where it can, a deployment, in an own environment.

Run it with ``make test-flower-next``. The environment takes everything but Flower and what Flower needs newer from the
environment that runs this script, so that torch is not installed a second time. The exit code is 0 where the simulation
works; the deployment, of Flower's own programs with pFedGP's two apps, may fail.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 900  # for each of the two runs
SIMULATION = ("-m", "pfedgp", "simulate", "--rounds", "10", "--seed", "0")
DEPLOYMENT = (str(ROOT / "scripts" / "flower_next_deployment.py"),)
LOST = """
from pfedgp.patches import SIDES, patches_of
from pfedgp_core.patch import lost_patches
for side in SIDES:
    print(*lost_patches(patches_of(side)), sep="\\n")
"""


def main() -> int:
    """Make the environment, run both, say what works; 0 where the simulation does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flower", default="flwr[simulation]", help="what to install (default: the newest)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venv-next", help="of the environment")
    args = parser.parse_args()
    python = environment(args.folder)
    if (reason := install(python, args.flower)) or not (version := installed(python)):
        print(f"Flower:     {args.flower} cannot be installed: {reason}")
        return 1
    print(f"Flower:     {version}")
    for line in lost(python):
        print(f"patches:    {line}")
    with tempfile.TemporaryDirectory(prefix="pfedgp-next-") as folder:
        works, said = attempt(python, Path(folder) / "simulation", *SIMULATION)
        print(f"simulation: {said}")
        _, said = attempt(python, Path(folder) / "deployment", *DEPLOYMENT)
        print(f"deployment: {said}")
    return 0 if works else 1


def environment(folder: Path) -> Path:
    """Make an environment that also sees this one and the repository; return its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    own = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    # Python looks at these after the environment's own packages.
    (own / "pfedgp-next.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


def install(python: Path, requirement: str) -> str:
    """Install the newest Flower with what it needs; return the installer's last words where that fails."""
    try:
        done = run([str(python), "-m", "pip", "install", "--quiet", "--upgrade", requirement])
    except subprocess.TimeoutExpired:
        return f"it took more than {SECONDS} s"
    return "" if done.returncode == 0 else last_line(done)


def installed(python: Path) -> str:
    """Return the version of the environment's own Flower; empty where it has none."""
    done = run([str(python), "-c", "import flwr; print(flwr.__version__)"])
    return done.stdout.strip()


def lost(python: Path) -> list[str]:
    """Return what pFedGP's patches of Flower no longer find."""
    done = run([str(python), "-P", "-c", LOST])
    if done.returncode:
        return [f"cannot be looked at: {last_line(done)}"]
    return [line for line in done.stdout.splitlines() if line]


def attempt(python: Path, out: Path, *command: str) -> tuple[bool, str]:
    """Run a federation; return whether it ended well, and a sentence about it."""
    began = time.monotonic()
    try:
        done = run([str(python), "-P", *command, "--out", str(out)])
    except subprocess.TimeoutExpired:
        return False, f"does not work: it did not end within {SECONDS} s"
    seconds = time.monotonic() - began
    summary = next(iter(sorted(out.rglob("summary.json"))), None)
    told = json.loads(summary.read_text(encoding="utf-8")) if summary else {}
    if done.returncode or told.get("status") != "completed":
        return False, f"does not work (exit code {done.returncode}): {told.get('reason') or last_line(done)}"
    return True, f"works: accuracy {told['accuracy']:.1%} after {told['rounds']} rounds, in {seconds:.0f} s"


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a program of the environment to its end and keep what it says."""
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    quiet = {"PATH": path, "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | quiet, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def last_line(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what a program said last, on the stream for errors where it used that."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1][:500] if lines else "it said nothing"


if __name__ == "__main__":
    sys.exit(main())
