"""The command ``pfedgp VERB``: picks the verb, and turns every failure into one sentence and an exit code.

0 success, 1 failed run, or a damaged checkpoint, run folder or saved site, 2 mistake in the command, its settings or
its data, 130 stopped with Ctrl-C, 143 with SIGTERM.
"""

import argparse
import difflib
import errno
import importlib
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pfedgp import __version__
from pfedgp.path_arguments import path_argument
from pfedgp.processes.called_as import internal_host, shown
from pfedgp.processes.ending import end_now
from pfedgp.processes.output import write_anything
from pfedgp.processes.own_packages import foreign
from pfedgp.processes.proxies import keep_direct
from pfedgp.processes.signals import STOPPED, exit_code, ignore_stop_signals
from pfedgp.verbs import VERBS
from pfedgp_core.backbones import declare_backbones
from pfedgp_core.errors import ArtefactError, ConfigError, DamagedStateError, DataError, PFedGPError

__all__ = ["main"]

DEBUG = "PFEDGP_DEBUG"
# What the file system says of a path, whoever gave it, and not of the program.
OF_PATHS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name (default: those of the process).
    """
    if argv is not None:
        return _run(list(argv))
    write_anything()
    try:
        code = _run(sys.argv[1:])
    finally:
        ignore_stop_signals()  # the outcome is told, and a late signal would give another exit code
    if code and "ray" in sys.modules:
        # Threads of a simulation that failed may wait for ever for an engine that is gone or never came up, and Python
        # would wait for them.
        end_now(code)
    return code


def _run(argv: list[str]) -> int:
    try:
        if others := foreign():
            raise ConfigError(
                f"{' and '.join(others)} stand where this process should have found packages of pFedGP: start pfedgp "
                "from another folder, or import pfedgp first."
            )
        keep_direct(internal_host())
        return _dispatch(argv)
    except PFedGPError as error:
        if os.environ.get(DEBUG) == "1":
            raise
        _say(str(error))
        mistaken = isinstance(error, ConfigError | DataError | ArtefactError)
        return 2 if mistaken and not isinstance(error, DamagedStateError) else 1
    except KeyboardInterrupt as stop:
        print(STOPPED, file=sys.stderr, flush=True)
        return exit_code(stop)
    except BrokenPipeError:
        # The reader of our output left (as in `pfedgp settings | head`); nothing can be printed any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get(DEBUG) == "1":
            raise
        if sentence := _about_a_path(error):
            _say(sentence)
            return 2
        _say(f"Unexpected {type(error).__name__}: {_one_line(error)} (details in {_write_traceback()}).")
        return 1


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence with a remedy, like every other error of the command."""

    def __init__(self, given: Sequence[str] = (), **options: Any) -> None:
        super().__init__(**options)
        self.register("type", Path, path_argument)
        self._given = given

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving the process."""
        options = [option for action in self._actions for option in action.option_strings]
        if message.startswith("the following arguments are required"):  # an option that there is not is why, mostly
            names = (word.partition("=")[0] for word in self._given if word.startswith("--") and len(word) > 2)
            message = next((f"unrecognized arguments: {n}; {message}" for n in names if n not in options), message)
        wrong = re.search(r"unrecognized arguments: (--[^\s=;]+)", message)
        near = difflib.get_close_matches(wrong[1], options, n=1, cutoff=0.75) if wrong else []
        remedy = f"did you mean {near[0]}?" if near else f"see {self.prog} --help."
        raise ConfigError(f"{message[0].upper()}{message[1:]}: {remedy}")


def _dispatch(argv: list[str]) -> int:
    if argv and argv[0] in VERBS:
        name, verb = argv[0], VERBS[argv[0]]
        parser = Parser(
            prog=f"pfedgp {name}",
            description=f"{verb.summary[0].upper()}{verb.summary[1:]}.",
            epilog=f"example: {verb.example}",
            allow_abbrev=False,
            given=argv[1:],
        )
        module = importlib.import_module(verb.module)
        module.add_arguments(parser)
        args = parser.parse_args(argv[1:])
        declare_backbones(getattr(args, "backbone", ()))
        code: int = module.main(args)
        return code

    if argv and not argv[0].startswith("-"):
        near = difflib.get_close_matches(argv[0], VERBS, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"the verbs are: {', '.join(VERBS)}."
        raise ConfigError(f"Unknown verb {argv[0]!r}: {remedy}")
    width = max(map(len, VERBS))
    listed = "\n".join(f"  {name:<{width}}  {verb.summary}" for name, verb in VERBS.items())
    parser = Parser(
        prog="pfedgp",
        usage="pfedgp [--version] [--help] VERB ...",
        description=f"Personalised federated learning with Gaussian processes.\n\nverbs:\n{listed}",
        epilog=f"see the options of a verb with: pfedgp VERB --help\nexample: {VERBS['simulate'].example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pfedgp {__version__}")
    parser.parse_args(argv)
    parser.print_help()
    return 0


def _say(sentence: str) -> None:
    print(f"pfedgp: {shown(sentence)}", file=sys.stderr, flush=True)


def _about_a_path(error: Exception) -> str:
    """What is wrong with a path that the user gave; empty where the error is about something else."""
    if isinstance(error, OSError) and error.errno in OF_PATHS and error.filename:
        return f"{error.filename} cannot be used ({error.strerror}): check the path and its rights."
    if isinstance(error, RuntimeError) and "home directory" in str(error):
        return "A path begins with ~ and the name of a user who has no home here: give the whole path."
    return ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or "no message"


def _write_traceback() -> str:
    """Keep the traceback of the exception being handled in a file, and return where."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="pfedgp-error-", suffix=".log", delete=False) as file:
            traceback.print_exc(file=file)
            return file.name
    except OSError:
        return f"no file, the disk cannot be written; repeat with {DEBUG}=1"
