"""Files of a commit in a folder of their own, and pFedGP's command run from them with this environment's packages."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CommitTree", "ToolError"]

REPOSITORY = Path(__file__).resolve().parents[1]


class ToolError(Exception):
    """A commit that does not exist, or a command that failed; the text says which."""


@dataclass(frozen=True)
class CommitTree:
    """The files of one commit.

    Attributes
    ----------
    name : str
        As the user called the commit.
    hash : str
        Its full hash.
    path : Path
        Folder of its files.
    """

    name: str
    hash: str
    path: Path

    @classmethod
    def take(cls, name: str, path: Path) -> "CommitTree":
        """Write the files of a commit to a new folder.

        Raises
        ------
        ToolError
            The repository has no such commit.
        """
        found = subprocess.run(
            ["git", "-C", str(REPOSITORY), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode:
            raise ToolError(f"{name!r} is no commit of this repository: name one that git log shows.")
        path.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "-C", str(REPOSITORY), "archive", found.stdout.strip()], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(path)], input=archive.stdout, check=True)
        tree = cls(name, found.stdout.strip(), path)
        # An editable installation could lead back to the working tree.
        for package in ("pfedgp", "pfedgp_core", "server", "client"):
            lies = tree.python("-c", f"import {package}; print({package}.__path__[0])").strip()
            if Path(lies).resolve() != (path / package).resolve():
                raise ToolError(f"{package} of {name} was imported from {lies}: use an environment without it.")
        return tree

    def python(self, *arguments: str) -> str:
        """Run Python with this commit's packages first on the path; returns what it printed.

        Raises
        ------
        ToolError
            It ended with another code than 0; the text holds its last lines.
        """
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.path,
            env=os.environ | {"PYTHONPATH": str(self.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = "\n".join([*done.stdout.splitlines()[-3:], *done.stderr.splitlines()[-5:]])
            raise ToolError(f"{self.name}: {' '.join(arguments)} ended with code {done.returncode}:\n{said}")
        return done.stdout

    def pfedgp(self, *arguments: str) -> str:
        """Run the command ``pfedgp`` of this commit; raises as `python`."""
        return self.python("-m", "pfedgp", *arguments)
