"""What the Linux kernel knows of this machine: who listens on a port, which processes live, whether time is kept."""

import ctypes
import ipaddress
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["clock_is_synchronised", "is_alive", "listening_on", "listens"]

_LISTEN = "0A"
_TIME_ERROR = 5


def listening_on(port: int) -> list[str] | None:
    """Return the addresses of this machine on which something listens at a TCP port; None if it cannot be told."""
    sockets = _sockets("self")
    return None if sockets is None else sorted({_address(host) for host, number, _ in sockets if number == port})


def listens(pid: int, port: int) -> bool:
    """Whether it is this process that listens on a TCP port; True also where it cannot be told."""
    own = set()
    with suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                own.add(str(Path(handle).readlink()))
    sockets = _sockets(str(pid))
    if not sockets or not own:
        return True
    return any(number == port and f"socket:[{inode}]" in own for _, number, inode in sockets)


def is_alive(pid: int, name: str) -> bool:
    """Whether a process lives and is the program of this name, not another one that has got its number."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return name.encode() in command


def clock_is_synchronised() -> bool | None:
    """Whether something, such as NTP, keeps this machine's clock right; None if it cannot be told."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "adjtimex"):
        return None
    # With the first field 0 the call only reads; the structure is shorter than this on every machine.
    answer = libc.adjtimex(ctypes.create_string_buffer(512))
    return None if answer < 0 else answer != _TIME_ERROR


def _sockets(process: str) -> list[tuple[str, int, str]] | None:
    """Address as the kernel prints it, port and inode of whatever listens; None if it cannot be told."""
    found = []
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{process}/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            if table == "tcp":
                return None
            continue
        for line in lines:
            local, state, inode = (line.split()[i] for i in (1, 3, 9))
            host, number = local.split(":")
            if state == _LISTEN:
                found.append((host, int(number, 16), inode))
    return found


def _address(text: str) -> str:
    # The kernel prints each 32-bit word in the machine's byte order.
    raw = bytes.fromhex(text)
    words = [raw[i : i + 4] for i in range(0, len(raw), 4)]
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    address = ipaddress.ip_address(b"".join(words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
