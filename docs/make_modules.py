"""Makes docs/modules.md, the index of all modules by room, from their docstrings: python docs/make_modules.py."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("pfedgp_core", "client", "server", "pfedgp")
HEAD = """# All modules

A line a module, by room. Generated from the docstrings by `python docs/make_modules.py` (a test compares the two);
[architecture.md](architecture.md) says how they work together.
"""


def first_line(path: Path) -> str:
    """The first line of a module's docstring; empty where there is none."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def index() -> str:
    """The text of docs/modules.md."""
    parts = [HEAD]
    for package in PACKAGES:
        for init in sorted((ROOT / package).rglob("__init__.py")):
            room = init.parent
            modules = sorted(path for path in room.glob("*.py") if path.name != "__init__.py")
            about = first_line(init)
            parts.append(f"## `{room.relative_to(ROOT)}/`\n" + (f"\n{about}\n" if about else ""))
            if modules:
                parts.append("\n".join(f"* `{path.name}`: {first_line(path)}" for path in modules) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (ROOT / "docs/modules.md").write_text(index(), encoding="utf-8")
