"""The steps of a site's way to the server: address, key, port, TLS, clock, registration."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pfedgp.doctor.fleet_call import fleet_call
from pfedgp.doctor.keys import check_key, read_key
from pfedgp.doctor.problem import Check, Deadline, Problem, ProblemError, checked
from pfedgp.doctor.reach import connect, parse_address
from pfedgp.doctor.tls import check_authority, check_plaintext, check_tls

__all__ = ["check_connection", "diagnose"]

LOCK_SECONDS = 65


def diagnose(
    superlink: str, ca: Path | None, key: Path | None, *, timeout: float = 15.0, refused: bool = False
) -> list[Problem]:
    """Find what keeps a site from the server, without changing anything on either side.

    Parameters
    ----------
    superlink : str
        HOST:PORT of the server's Fleet port.
    ca : Path or None
        CA certificate; None means a connection in plaintext.
    key : Path or None
        The site's private key; None leaves the registration out.
    timeout : float
        Seconds for everything together.
    refused : bool
        Whether Flower has just refused to activate this key, which it does with the same answer for a key that it
        does not know and for one that is in use.

    Returns
    -------
    list of Problem
        Problems first, then warnings; empty if a client can connect.
    """
    checks = check_connection(superlink, ca, key, timeout=timeout, refused=refused)
    problems = [check.problem for check in checks if check.problem is not None]
    return sorted(problems, key=lambda problem: problem.warning)


def check_connection(
    superlink: str,
    ca: Path | None,
    key: Path | None,
    *,
    timeout: float = 15.0,
    refused: bool = False,
    measure: bool = False,
) -> Iterator[Check]:
    """Yield one check after the other, up to the first problem of the connection.

    Parameters
    ----------
    superlink, ca, key, timeout, refused
        As in `diagnose`.
    measure : bool
        Whether to measure a clock that is accepted, which takes ten calls.
    """
    deadline = Deadline(timeout)
    if key is not None:
        found = checked("key", partial(check_key, key))
        yield found
        key = None if found.status == "problem" else key
    if ca is not None:
        found = checked("CA", partial(check_authority, ca))
        yield found
        if found.status == "problem":
            return
    topic = "port"
    try:
        address = parse_address(superlink)
        connect(address, deadline).close()
        yield Check(topic, f"{address} accepts connections")
        topic = "TLS"
        yield check_plaintext(address, deadline) if ca is None else check_tls(address, ca, deadline)
        topic = "clock"
        with fleet_call(address, ca, None if key is None else read_key(key), deadline) as call:
            registered = call.registered()
            yield call.check_clock() if measure else Check(topic, "accepted by the server")
        if key is not None:
            problem = _registration_problem(key, registered, refused)
            yield Check("registration", "the server knows this key", problem)
    except ProblemError as error:
        yield Check(topic, "", error.problem)
    except (OSError, ValueError) as error:
        sentence = f"The check of {superlink} ended with {type(error).__name__}: {error}."
        remedy = "Check the address and the files, and look at the server's log."
        yield Check(topic, "", Problem("unexplained", sentence, remedy, lasting=False))


def _registration_problem(key: Path, registered: bool, refused: bool) -> Problem | None:
    if not registered:
        return Problem(
            "unregistered",
            f"The server does not know the key {key}.",
            f"On the server, register it with pfedgp certs --public-key {key.name}.pub: `pfedgp server` finds it "
            "within seconds.",
            lasting=False,
        )
    if refused:
        return Problem(
            "key-in-use",
            f"The server knows the key {key} but holds it for another client: one that runs, or one that was killed "
            f"less than {LOCK_SECONDS} s ago.",
            f"Stop the other client, give every site a key of its own, or wait {LOCK_SECONDS} s.",
            lasting=False,
        )
    return None
