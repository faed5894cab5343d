"""Texts that a hostile server sends where a setting, a name or a path is expected."""

from collections.abc import Iterator
from pathlib import Path

__all__ = ["ELSEWHERE", "MODULE", "hostile_values", "write_traps"]

MODULE = "pfedgp_trap_of_a_test"
SECRET = "a secret of the site\n"
# Keys that mean something elsewhere: in a site's node config, in a run's folder, on a command line.
ELSEWHERE = (
    *("data-path", "data-root", "state", "site", "client-name", "allow-code", "max-memory", "device", "label-column"),
    *("resize", "partition-id", "num-partitions", "out", "publish", "model", "root", "path", "file", "folder", "url"),
    *("column-key", "column-names", "channels", "pages", "value-range", "group-column", "window"),
)


def hostile_values(folder: Path) -> Iterator[str]:
    """Code, files and addresses; modules and files lie in `folder` where `write_traps` put them."""
    yield from ("os:system", "pty:spawn", "venv.__main__:x", "unittest.__main__:x", "subprocess:run", "builtins:exec")
    yield from (f"{MODULE}:run", f"{MODULE}:Method", MODULE)
    yield from (str(folder / "secret.txt"), str(folder / "written"), "../../x", "~/x", "/etc/passwd", "/dev/zero")
    yield from ((folder / "secret.txt").as_uri(), "http://127.0.0.1:9/x", "\\\\127.0.0.1\\x", "$(touch x)", "`id`; id")
    yield from ("a\0b", "\x1b[2J", "x" * 300, "x" * 2_000_000, "")


def write_traps(folder: Path) -> None:
    """A file that is the site's own, and a module that writes beside it when it is imported."""
    (folder / "secret.txt").write_text(SECRET)
    modules = folder / "modules"
    modules.mkdir()
    (modules / f"{MODULE}.py").write_text(
        f"from pathlib import Path\nPath({str(folder / 'written')!r}).write_text('code of the server ran')\n"
        "from torch import nn\n\n\ndef run(shape, width):\n"
        "    size = 1\n    for side in shape:\n        size *= side\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(size, width))\n"
    )
