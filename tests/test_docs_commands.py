"""Every command in the documentation exists, with every option that it is shown with."""

import argparse
import importlib
import re
import shlex
from pathlib import Path

import pytest

from pfedgp.cli import VERBS

ROOT = Path(__file__).resolve().parent.parent
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(text: str) -> list[list[str]]:
    """The ``pfedgp`` commands in fenced blocks and in inline code, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    rest = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", rest)]
    found = [shlex.split(line, comments=True) for line in lines if "pfedgp " in line]
    return [words[1:] for words in found if len(words) > 1 and words[0].endswith("pfedgp") and words[1][0].islower()]


def options(verb: str) -> set[str]:
    """The options of a verb."""
    parser = argparse.ArgumentParser()
    importlib.import_module(VERBS[verb].module).add_arguments(parser)
    return {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_documented_commands_exist(file: Path) -> None:
    for words in commands(file.read_text(encoding="utf-8")):
        assert words[0] in VERBS, words
        shown = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert shown <= options(words[0]), words


def test_commands_are_found_in_every_form() -> None:
    text = (
        "```sh\n. x\npfedgp run --a \\\n  --b 1  # why\nVAR=1 flwr x\n```\nsee `pfedgp stop\n--c` and `pfedgp` or `x`"
    )
    assert commands(text) == [["run", "--a", "--b", "1"], ["stop", "--c"]]
    assert len(commands((ROOT / "docs" / "deploy.md").read_text(encoding="utf-8"))) > 20
