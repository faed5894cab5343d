"""The dates of a deployment's certificates: those in its folder, and the one that the server shows."""

import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509

from pfedgp.doctor.problem import Deadline
from pfedgp.doctor.reach import parse_address
from pfedgp.doctor.tls import served_certificate
from pfedgp.operator.authority import subject_names
from pfedgp_core.errors import MissingFileError, PFedGPError, UnreadableFileError
from pfedgp_core.files import keys

__all__ = ["SHOWN_BY_SERVER", "Certificates"]

SHOWN_BY_SERVER = "shown by the server"
PATIENCE, AGAIN = 3.0, 20.0  # seconds for a handshake, and until the next one


class Certificates:
    """Reads them again where a file changes, and asks the server three times a minute."""

    def __init__(self) -> None:
        self._asked: tuple[str, float] = "", 0.0
        self._shown: x509.Certificate | None = None

    def dates(self, folder: Path | None, ca: Path | None, address: str) -> list[dict[str, Any]]:
        """The certificates, each with its dates.

        Parameters
        ----------
        folder : Path or None
            Of ``pfedgp certs``, where this machine has it.
        ca : Path or None
            Certificate of the authority, where it is elsewhere.
        address : str
            ``HOST:PORT`` of a server that answers there; empty where none does.
        """
        places = {"server.crt": [folder and folder / "server.crt"], "ca.crt": [folder and folder / "ca.crt", ca]}
        found = []
        for name, paths in places.items():
            rows = [row for path in paths if path and (row := _of_file(name, path)) is not None]
            found += rows[:1]
        shown = self._ask(address)
        own = next((row["serial"] for row in found if row["name"] == "server.crt" and row["readable"]), "")
        if shown is not None and own != _serial(shown):
            found.insert(0, _dated(SHOWN_BY_SERVER, shown))
        return found

    def _ask(self, address: str) -> x509.Certificate | None:
        asked, when = self._asked
        if address and (asked != address or time.monotonic() - when > AGAIN):
            self._asked = address, time.monotonic()
            self._shown = None
            with suppress(PFedGPError):
                self._shown = served_certificate(parse_address(address), Deadline(PATIENCE))
        return self._shown if address else None


def _of_file(name: str, path: Path) -> dict[str, Any] | None:
    try:
        return _dated(name, keys.read_certificate(path))
    except MissingFileError:
        return None
    except UnreadableFileError:
        dates = dict.fromkeys(("since", "until", "days_left"))
        return {"name": name, "readable": False, **dates, "for": [], "serial": ""}


def _dated(name: str, certificate: x509.Certificate) -> dict[str, Any]:
    since, until = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return {
        "name": name,
        "readable": True,
        "since": since.isoformat(timespec="seconds"),
        "until": until.isoformat(timespec="seconds"),
        "days_left": (until - datetime.now(UTC)).days,
        "for": subject_names(certificate),
        "serial": _serial(certificate),
    }


def _serial(certificate: x509.Certificate) -> str:
    return f"{certificate.serial_number:x}"
