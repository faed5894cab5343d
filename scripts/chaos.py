"""Random kills over a deployment: each is followed by the operator's remedy, and no bit of the models may differ.

    python scripts/chaos.py                      thirty kills, of a seed that is printed
    python scripts/chaos.py --kills 3 --seed 7   the same victims and pauses once more
    python scripts/chaos.py --method fedavg      runs of one method alone

Server and sites run on this machine with TLS and registered keys. SIGKILL ends the server app, a worker, a whole site,
the SuperLink or ``pfedgp server`` at a random moment of a run; the first five kills have each once. The remedies are
those of docs/deploy.md: a server or a site that is gone is started again, and a run that has ended is resumed. Runs
follow each other until there were enough kills: of FedPer, whose clients keep layers and whose checkpoint is written
before the next round, and of FedAvg, whose checkpoint is written while the clients work on it. Each ends with the
models, the personal layers and the accuracy of a run that nothing happened to, to the bit.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from client.state import SEAL
from server.run.model_file import load_model
from tests.deploy.deployment import WARDS, Deployment, deployed
from tests.deploy.program import Program, children
from tests.waiting import wait_for

__all__ = ["VICTIMS", "chaos", "drawn", "main"]

ROUNDS = 12
METHODS = {"fedper": True, "fedavg": False}  # whether clients keep a state of their own
OPTIONS = (
    *("--rounds", str(ROUNDS), "--clients-per-round", "3", "--seed", "8"),
    *("--set", "min-clients=3", "--set", "evaluate-every=2", "--set", "local-steps=2"),
    *("--set", "on-failure=stop", "--set", "round-timeout=60"),
)
VICTIMS = ("server app", "worker", "site", "superlink", "server")
MOST_ROUNDS = 2  # of a run between a remedy and the next kill, and then so many seconds
LONGEST_PAUSE = 8.0
LOCKED = 150.0  # seconds in which a site that was killed is let in again
REMEDIES = 40  # tries of a run to go on, before this is called a failure
READY = "sites connect to port"
STARTS = 45.0  # seconds in which the app of a run that goes on is there
LONGEST_RUN = 600.0


def main(arguments: Sequence[str] = sys.argv[1:]) -> int:
    """Run the kills that the command line asks for; 0 where no bit differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=30, help="how many (default: 30)")
    parser.add_argument("--seed", type=int, help="of victims and pauses (default: another each time)")
    parser.add_argument("--method", choices=METHODS, action="append", help="of the runs, in turn (default: each)")
    parser.add_argument("--minutes", type=float, default=120.0, help="after which no more kills follow (default: 120)")
    given = parser.parse_args(arguments)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}, {given.kills} kills", flush=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, deployed(Path(folder), WARDS) as deployment:
        until = time.monotonic() + 60 * given.minutes
        done = chaos(deployment, given.kills, seed, given.method or list(METHODS), until)
    told = ", ".join(f"{count} of the {victim}" for victim, count in sorted(done.kills.items()))
    print(f"{done.kills.total()} kills ({told}) in {done.runs} runs, {done.resumed} times resumed: no bit differs")
    return 0


@dataclass
class Chaos:
    """What happened: kills by victim, finished runs, and how often a run was resumed."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    resumed: int = 0


def chaos(
    deployment: Deployment,
    kills: int,
    seed: int,
    methods: Sequence[str] = tuple(METHODS),
    until: float = float("inf"),
) -> Chaos:
    """Kill at random until there were `kills` or the time is over, and compare each run with one without kills.

    The methods take turns, a run each.

    Raises
    ------
    AssertionError
        A remedy does not help, or a bit differs; the text says which.
    """
    draw, done, began = random.Random(seed), Chaos(), time.monotonic()  # noqa: S311 (no secret)
    victims = drawn(draw)
    victim = next(victims)
    for method in methods:
        plain = deployment.start_run(f"plain-{method}", *OPTIONS, "--method", method)
        assert plain.ends(600.0) == 0, plain.text
    seconds = (time.monotonic() - began) / ROUNDS / len(methods)
    while done.kills.total() < kills and time.monotonic() < until:
        method = methods[done.runs % len(methods)]
        name = f"{method}-{done.runs}"
        run = _Run(deployment, name, method, done)
        while not run.over():
            more = done.kills.total() < kills and time.monotonic() < until
            # By rounds first, or on a slow machine all kills would come before round 1.
            rounds, pause = draw.randrange(MOST_ROUNDS + 1), draw.uniform(0.0, min(LONGEST_PAUSE, 2 * seconds))
            goes_on = run.gains(rounds) and run.goes_on_for(pause) if more else run.goes_on_for(LONGEST_RUN)
            if not goes_on or not more:
                run.mend("")
                continue
            if not _kill(deployment, victim, draw):
                continue
            done.kills[victim] += 1
            print(f"{done.kills.total():3} {victim} killed after round {len(deployment.rounds(name))}", flush=True)
            run.mend(victim)
            victim = next(victims)
        _same(deployment, name, method)
        done.runs += 1
    return done


def drawn(draw: random.Random) -> Iterator[str]:
    """Kinds of victims without end: each once, in random order, and then as they are drawn."""
    yield from draw.sample(VICTIMS, len(VICTIMS))
    while True:
        yield draw.choice(VICTIMS)


class _Run:
    """A run that its operator wants to see completed.

    Parameters
    ----------
    deployment : Deployment
    name : str
        Of its folder.
    method : str
    done : Chaos
    """

    def __init__(self, deployment: Deployment, name: str, method: str, done: Chaos) -> None:
        self._deployment, self._name, self._done = deployment, name, done
        self._options = (*OPTIONS, "--method", method)
        self._program = deployment.start_run(name, *self._options)
        self._tries = 0

    def over(self) -> bool:
        """Whether it is complete, and the command that follows it has seen that or was cut off."""
        with suppress(OSError, ValueError):
            if self._deployment.summary(self._name)["status"] == "completed":
                self._let_end()
                return True
        return False

    def gains(self, rounds: int) -> bool:
        """Let it work for so many rounds, as far as it gets; False where it ended before."""
        name, deadline = self._name, time.monotonic() + LONGEST_RUN
        wanted = len(self._deployment.rounds(name)) + rounds
        while len(self._deployment.rounds(name)) < wanted and time.monotonic() < deadline:
            if not self.goes_on_for(0.2):
                return False
        return True

    def goes_on_for(self, seconds: float) -> bool:
        """Let it work for so long; False where it ended before."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._program.process.poll() is not None:
                return False
            time.sleep(0.05)
        return True

    def mend(self, killed: str) -> None:
        """Do what an operator does: start what is gone, and resume the run where it has ended or lost its app."""
        self._start_what_is_gone()
        if killed not in ("server app", "server"):
            with suppress(AssertionError):
                wait_for(self._ended_or_works, STARTS, "the run goes on")
        if self.over() or (self._program.process.poll() is None and _server_app(self._deployment)):
            return
        self._tries += 1
        assert self._tries <= REMEDIES, f"{self._name} does not go on:\n{self._program.text[-3000:]}"
        self._cut_off()
        if (self._deployment.runs / self._name / "config.toml").is_file():
            self._program = self._deployment.start_run(self._name, verb="resume")
            self._done.resumed += 1
        else:  # it was killed before it had a folder to go on from
            self._program = self._deployment.start_run(self._name, *self._options)
        with suppress(AssertionError):
            wait_for(self._ended_or_works, STARTS, "the run goes on")
        assert "Traceback" not in self._program.text, self._program.text

    def _start_what_is_gone(self) -> None:
        deployment = self._deployment
        if deployment.server is None or deployment.server.process.poll() is not None:
            began = deployment.server.text.count(READY) if deployment.server else 0
            deployment.start_server().says(READY, 120.0, began + 1)
        for name in deployment.names:
            if deployment.sites[name].process.poll() is not None:
                seen = deployment.sites[name].text.count("Connected to ")
                deployment.start_site(name, "--data", str(deployment.data(name)))
                deployment.connected(name, times=seen + 1, seconds=LOCKED)

    def _ended_or_works(self) -> bool:
        return self._program.process.poll() is not None or bool(_server_app(self._deployment))

    def _let_end(self) -> None:
        with suppress(AssertionError):
            self._program.ends(STARTS)
        self._cut_off()

    def _cut_off(self) -> None:
        """End the command that follows the run, which goes on without it."""
        if self._program.process.poll() is None:
            self._program.process.kill()
            self._program.process.wait()


def _kill(deployment: Deployment, victim: str, draw: random.Random) -> bool:
    """Send SIGKILL; False where no such process is there at the moment."""
    name, server = draw.choice(deployment.names), deployment.server
    assert server is not None
    site = deployment.sites[name]
    found: dict[str, Callable[[], list[int]]] = {
        "server app": lambda: _server_app(deployment),
        "worker": lambda: [pid for key, pid in deployment.pids(name).items() if key == "worker"],
        "site": lambda: list(deployment.pids(name).values()),
        "superlink": lambda: [deployment.processes()["superlink"]],
        "server": lambda: [server.pid],
    }
    # A file may name a process that has ended, whose number another program has now.
    ours = {server.pid, site.pid, *children(server.pid), *children(site.pid)}
    killed = 0
    for pid in ours.intersection(found[victim]()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    if killed and victim in ("site", "server"):
        program: Program = site if victim == "site" else server
        program.process.wait(30.0)
    return killed > 0


def _server_app(deployment: Deployment) -> list[int]:
    assert deployment.server is not None
    return [pid for pid, command in children(deployment.server.pid).items() if "flwr-serverapp" in command]


def _kept(deployment: Deployment, site: str) -> list[bytes]:
    """The site's personal layers after the last round, of each run; the seal before them names the run."""
    return [file.read_bytes()[SEAL:] for file in deployment.site_state(site).glob(f"kept/*/*/{ROUNDS}.state")]


def _same(deployment: Deployment, name: str, method: str) -> None:
    """Assert that a run has left the bits of the one that nothing happened to."""
    plain = f"plain-{method}"
    for which in ("best", "final"):
        vector, meta = load_model(deployment.runs / name / which)
        expected, expected_meta = load_model(deployment.runs / plain / which)
        assert vector.tobytes() == expected.tobytes(), f"{which} of {name} differs"
        assert meta["round"] == expected_meta["round"], f"{which} of {name} is of another round"
    for site in deployment.names:
        kept = _kept(deployment, site)
        assert len(set(kept)) == bool(kept), f"the personal layers of {site} differ"
        assert kept or not METHODS[method], f"there are no personal layers of {site}"
    accuracy = [deployment.summary(run)["accuracy"] for run in (name, plain)]
    assert accuracy[0] == accuracy[1], f"the accuracy of {name} differs"


if __name__ == "__main__":
    sys.exit(main())
