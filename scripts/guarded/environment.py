"""Bad days of the machine: proxies, slow starts, small limits, strange folders and files, an engine that hangs."""

import signal
import sys
from pathlib import Path

from harness import case, main

from tests.deploy import bad_days
from tests.pfedgp.processes import test_ending, test_limits


@case("Under dead proxies, server, site, status, deploy-local and simulate work over loopback", seconds=240)
def _(folder: Path) -> None:
    bad_days.dead_proxies(folder)


@case("A site whose server is elsewhere uses the proxy and names it", seconds=240)
def _(folder: Path) -> None:
    bad_days.proxy_of_a_remote_server(folder)


@case("simulate works in a folder with client.py, server.py and pfedgp_core.py", seconds=240)
def _(folder: Path) -> None:
    bad_days.folder_of_another_app(folder, packages=False)


@case("python -m pfedgp runs ours in a folder with packages client and server", seconds=240)
def _(folder: Path) -> None:
    bad_days.folder_of_another_app(folder, packages=True, program=(sys.executable, "-m", "pfedgp"))


@case("A server app that needs 40 s to its first call is started once, and its run completes", seconds=240)
def _(folder: Path) -> None:
    bad_days.app_that_starts_slowly(folder)


@case("A server app that never comes to its first call ends the run after three starts, with the reason", seconds=240)
def _(folder: Path) -> None:
    bad_days.app_that_never_starts(folder)


@case("A TMPDIR of 100 characters is survived", seconds=300)
def _(folder: Path) -> None:
    bad_days.long_tmpdir(folder)


@case("A simulation engine that registers 40 s late is waited for", seconds=180)
def _(folder: Path) -> None:
    bad_days.late_node(folder)


@case("An emoji in a class name is printed on terminals of cp1252 and ASCII", seconds=60)
def _(folder: Path) -> None:
    bad_days.emoji_on_a_small_terminal(folder)


@case("Server, site, doctor and run work with addresses of IPv6 alone", seconds=180)
def _(folder: Path) -> None:
    bad_days.address_of_ipv6(folder)


@case(
    "ulimit -n 64 is refused in one sentence by simulate and deploy-local",
    seconds=60,
    tests=["tests/pfedgp/processes/test_limits.py::test_each_program_checks_it_before_its_work"],
)
def _(folder: Path) -> None:
    for command in (["simulate", "--workers", "1"], ["deploy-local"]):
        test_limits.test_each_program_checks_it_before_its_work(command, folder)


@case(
    "After SIGTERM a command whose engine hangs ends in its grace, with code 143",
    seconds=60,
    tests=["tests/pfedgp/processes/test_ending.py::test_an_engine_that_hangs_is_ended_with_all_below_it"],
)
def _(_: Path) -> None:
    test_ending.test_an_engine_that_hangs_is_ended_with_all_below_it(signal.SIGTERM, 143)


@case("Certificates and keys with a byte order mark, with CRLF and as DER are read", seconds=180)
def _(folder: Path) -> None:
    bad_days.certificates_in_other_forms(folder)


if __name__ == "__main__":
    sys.exit(main())
