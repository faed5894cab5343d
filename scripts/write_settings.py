"""Writes the settings' defaults into pyproject.toml, from which Flower reads them: python scripts/write_settings.py."""

from pathlib import Path

from pfedgp_core.config import Settings
from server.run.settings import dump_settings

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
TABLE = "tool.flwr.app.config"


def with_settings(pyproject: str, settings: Settings) -> str:
    """The text of pyproject.toml with the table of settings made anew.

    Keys that are no settings, such as ``out``, stay at the end of the table as they are.
    """
    head, start, rest = pyproject.partition(f"[{TABLE}]\n")
    if not start:
        raise SystemExit(f"pyproject.toml has no table [{TABLE}]: add an empty one.")
    former = rest.splitlines(keepends=True)
    ours = [not line.startswith("[") or line.startswith(f"[{TABLE}.") for line in former]
    end = ours.index(False) if False in ours else len(former)
    main = "".join(former).partition("\n\n")[0].splitlines()
    known = settings.to_run_config()
    kept = [line for line in main if "=" in line and line.partition("=")[0].strip() not in known]
    table, gap, groups = dump_settings(settings, TABLE).partition("\n\n")
    return head + "\n".join([table, *kept]) + gap + groups + "\n" + "".join(former[end:])


def main() -> None:
    """Write the file."""
    text = PYPROJECT.read_text(encoding="utf-8")
    PYPROJECT.write_text(with_settings(text, Settings()), encoding="utf-8")


if __name__ == "__main__":
    main()
