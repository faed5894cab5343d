"""An empty path on the command line is refused by every verb, in one sentence."""

import argparse
import importlib
from pathlib import Path

import pytest

from pfedgp.cli import Parser, main
from pfedgp.path_arguments import path_argument, path_text
from pfedgp.verbs import VERBS
from pfedgp_core.errors import ConfigError

PLACES = {"FILE", "FOLDER", "DIR", "PATH", "SITE", "MODEL"}
CODE = ("allow_method", "allow_network")  # module:function
OWN_SENTENCE = {("check-data", "path"), ("client", "data")}  # each has a test where the verb's others are
SETTING = "data_root"  # of a simulation, whose default is empty


def arguments(verb: str) -> dict[str, argparse.Action]:
    """Those of a verb that name a file or folder, by their names."""
    parser = Parser(prog=f"pfedgp {verb}")
    importlib.import_module(VERBS[verb].module).add_arguments(parser)
    takes_settings = any(action.dest == "assignments" for action in parser._actions)
    return {
        action.dest: action
        for action in parser._actions
        if (action.type in (Path, path_text) or action.metavar in PLACES)
        and action.dest not in CODE
        and (verb, action.dest) not in OWN_SENTENCE
        and not (takes_settings and action.dest == SETTING)
    }


@pytest.mark.parametrize("verb", VERBS)
def test_an_argument_that_names_a_place_is_a_path_of_this_parser(verb: str) -> None:
    others = {name for name, action in arguments(verb).items() if action.type not in (Path, path_text)}
    assert others == set()


@pytest.mark.parametrize("verb", [verb for verb in VERBS if arguments(verb)])
def test_an_empty_path_is_refused_whatever_else_is_missing(verb: str) -> None:
    for action in arguments(verb).values():
        given = [*action.option_strings[-1:], ""]
        with pytest.raises(ConfigError, match="the path is empty, and the working folder"):
            parser = Parser(prog=f"pfedgp {verb}")
            importlib.import_module(VERBS[verb].module).add_arguments(parser)
            parser.parse_args(given)


def test_the_sentence_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "run", "--out", ""]) == 2
    assert capsys.readouterr().err == (
        "pfedgp: Argument --out: the path is empty, and the working folder is '.': see pfedgp report --help.\n"
    )


def test_the_working_folder_is_named_by_a_dot() -> None:
    assert path_argument(".") == Path()
    assert path_argument("a/b") == Path("a/b")
