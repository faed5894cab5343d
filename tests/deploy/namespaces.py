"""Machines for a test: network namespaces behind one switch, on addresses that exist nowhere else.

The switch is a namespace of its own, so that nothing of it touches this machine's addresses, routes or firewall.
"""

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest

__all__ = ["Host", "Lab", "lab"]

NETWORK = "198.51.100"  # reserved for documentation
FIRST = 11


@dataclass(frozen=True)
class Host:
    """Where a program runs: in a network namespace, or with an empty name on this machine itself."""

    namespace: str = ""
    address: str = "127.0.0.1"

    @property
    def prefix(self) -> list[str]:
        """Goes before a command; the command's process id is that of the program itself."""
        return ["ip", "netns", "exec", self.namespace] if self.namespace else []

    def run(self, *command: str, timeout: float = 60.0) -> "subprocess.CompletedProcess[str]":
        """Run a program to its end."""
        return subprocess.run([*self.prefix, *command], capture_output=True, text=True, timeout=timeout, check=False)

    def sockets(self, *options: str) -> list[dict[str, str]]:
        """TCP sockets of this machine as ``ss`` lists them: ``state``, ``local``, ``peer``."""
        lines = self.run("ss", "-H", "-n", "-t", *options).stdout.splitlines()
        fields = [line.split(maxsplit=5) for line in lines]
        return [{"state": f[0], "local": _plain(f[3]), "peer": _plain(f[4])} for f in fields]


class Lab:
    """`count` machines that can talk to each other; the first has the address 198.51.100.11.

    Attributes
    ----------
    hosts : list of Host
    """

    def __init__(self, count: int) -> None:
        self._name = f"pf{secrets.token_hex(3)}"
        self._switch = f"{self._name}-sw"
        self.hosts = [Host(f"{self._name}-{i}", f"{NETWORK}.{FIRST + i}") for i in range(count)]

    def build(self) -> None:
        """Make the namespaces and connect them."""
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "br0", "up")
        for i, host in enumerate(self.hosts):
            _ip("netns", "add", host.namespace)
            _ip(
                *("link", "add", f"v{i}", "netns", self._switch, "type", "veth"),
                *("peer", "name", "eth0", "netns", host.namespace),
            )
            _ip("-n", self._switch, "link", "set", f"v{i}", "master", "br0", "up")
            _ip("-n", host.namespace, "link", "set", "lo", "up")
            _ip("-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", "eth0")
            _ip("-n", host.namespace, "link", "set", "eth0", "up")

    def cut(self, host: Host) -> None:
        """Pull the machine's cable out of the switch: what it sends, and what is sent to it, is lost silently."""
        _ip("-n", self._switch, "link", "set", f"v{self.hosts.index(host)}", "down")

    def join(self, host: Host) -> None:
        """Put the cable back."""
        _ip("-n", self._switch, "link", "set", f"v{self.hosts.index(host)}", "up")

    def remove(self) -> None:
        """Remove the namespaces, also after half of `build`; programs in them must have ended."""
        for name in [*(host.namespace for host in self.hosts), self._switch]:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)

    def is_gone(self) -> bool:
        """Whether no namespace of this lab is left."""
        listed = json.loads(_ip("-j", "netns", "list") or "[]")
        return not any(str(entry["name"]).startswith(self._name) for entry in listed)


@contextmanager
def lab(count: int) -> Iterator[Lab]:
    """A lab for the time of a test; skips the test where this machine cannot make one."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for program in ("ip", "ss"):
        if shutil.which(program) is None:
            pytest.skip(f"the program {program} is missing (package iproute2)")
    made = Lab(count)
    try:
        try:
            made.build()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {_words(error.cmd)}: {error.stderr.strip()}")
        yield made
    finally:
        made.remove()


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def _words(command: Sequence[str]) -> str:
    return " ".join(command)


def _plain(address: str) -> str:
    """An IPv4 address that an IPv6 socket has, as IPv4."""
    return re.sub(r"^\[::ffff:([0-9.]+)\]", r"\1", address)
