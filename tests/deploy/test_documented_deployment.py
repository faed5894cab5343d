"""The commands of docs/deploy.md, as they stand there, on machines of their own."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import QUIET
from tests.deploy.digit_images import write_digits
from tests.deploy.namespaces import Host, lab
from tests.deploy.program import PROGRAM, Program, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.netns, pytest.mark.root]

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"
NAME = "fl.example.org"


def numbered_commands() -> dict[int, list[str]]:
    """The eleven commands by their numbers."""
    lines = re.findall(r"^pfedgp (.*?)\s+# (\d+)\b", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(number): shlex.split(command) for command, number in lines}


@contextmanager
def known_as(hosts: list[Host], name: str, address: str) -> Iterator[None]:
    """Let the machines of a lab resolve a name."""
    folders = [Path("/etc/netns") / host.namespace for host in hosts]
    try:
        for folder in folders:
            folder.mkdir(parents=True)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{address} {name}\n")
        yield
    finally:
        for folder in folders:
            (folder / "hosts").unlink(missing_ok=True)
            if folder.is_dir():
                folder.rmdir()


def test_eleven_commands_make_a_deployment_and_the_remedy_for_a_lost_key_works(tmp_path: Path) -> None:
    commands = numbered_commands()
    assert sorted(commands) == list(range(1, 12))
    with lab(3) as machines, known_as(machines.hosts, NAME, machines.hosts[0].address):
        server, *sites = [Machine(tmp_path / str(i), host) for i, host in enumerate(machines.hosts)]
        try:
            follow(commands, server, sites)
        finally:
            for machine in (*sites, server):
                machine.stop()


def follow(commands: dict[int, list[str]], server: "Machine", sites: list["Machine"]) -> None:
    """Do what the document says; the second site does what the first does, under its own name."""
    for number, site in enumerate(sites, start=1):
        site.run([word.replace("ward-1", f"ward-{number}") for word in commands[1]])
        site.hands(f"ward-{number}.pub", server)
    assert "ca.crt" in server.run(commands[2])
    server.start("server", commands[3]).says("registered ward-1, ward-2", 90.0)
    for number, site in enumerate(sites, start=1):
        write_digits(site.folder / "images", (2 * number, 2 * number + 1), 30)
        write_digits(site.folder / "new", (2 * number, 2 * number + 1), 5, first=100)
        server.hands("certs/ca.crt", site)
        own = {key: [word.replace("ward-1", f"ward-{number}") for word in words] for key, words in commands.items()}
        assert f"digit-{2 * number}" in site.run(own[4])
        report = site.run(own[5])
        assert "problem" not in report, report
        site.start("client", own[6])
    for site in sites:
        site.programs["client"].says("Connected to ", 90.0)
    assert "ward-1: connected" in server.run(commands[7])
    run = server.run(commands[8], timeout=400.0)
    assert "round 20/20" in run
    assert "ward-1: created" in run
    assert "round 30/30" in server.run(commands[9], timeout=400.0)
    for site in sites:
        site.run(commands[10])
        assert (site.folder / "predictions.csv").read_text().count("digit-") > 10
    replace_key(server, sites[0])
    assert "stopped" in server.run(commands[11])
    assert server.programs["server"].ends(60.0) == 0


def replace_key(server: "Machine", site: "Machine") -> None:
    """A site is taken out and gets a new key, as the document says it for another one."""
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Take a site out")[2]
    remove, rotate, renew = re.findall(r"^pfedgp (.*?)(?:\s+#.*)?$", section.partition("\n## ")[0], re.MULTILINE)
    server.run(shlex.split(remove.replace("ward-2", "ward-1")))
    server.programs["server"].says("ward-1 is taken out", 60.0)
    site.run(shlex.split(rotate.replace("ward-2", "ward-1")))
    site.hands("ward-1.pub", server)
    server.run(shlex.split(renew.replace("ward-2", "ward-1")))
    server.programs["server"].says("registered ward-1$", 60.0)
    assert site.programs["client"].stop() == 0
    site.start("client", numbered_commands()[6])
    site.programs["client"].says("Connected to ", 90.0, times=2)

    def connected() -> bool:
        return "ward-1: connected" in server.run(["status", "--state", "state"])

    wait_for(connected, 30.0, "the site is connected with its new key")


class Machine:
    """A machine of the lab with a working folder."""

    def __init__(self, folder: Path, host: Host) -> None:
        self.folder, self.host = folder, host
        self.programs: dict[str, Program] = {}
        folder.mkdir()

    def run(self, words: list[str], timeout: float = 120.0) -> str:
        """Run a command, which has to succeed, and return what it printed."""
        done = subprocess.run(
            [*self.host.prefix, *PROGRAM, *words],
            cwd=self.folder,
            env=os.environ | QUIET,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def hands(self, file: str, other: "Machine") -> None:
        """Carry a file to another machine."""
        (other.folder / Path(file).name).write_bytes((self.folder / file).read_bytes())

    def start(self, name: str, words: list[str]) -> Program:
        """Start a command that goes on."""
        self.programs[name] = Program(self.folder / f"{name}.log", self.host, words, folder=self.folder)
        return self.programs[name]

    def stop(self) -> None:
        """Stop what runs."""
        for program in self.programs.values():
            program.stop()
