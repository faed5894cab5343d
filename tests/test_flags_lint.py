"""Every option that docs, compose files, scripts and the Makefile give to a tool is in that tool's own --help."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from pfedgp.cli import main
from pfedgp.verbs import VERBS

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docker").rglob("*.md")])
COMPOSE = sorted([ROOT / "docker-compose.yml", *(ROOT / "docker").glob("compose*.yml")])
SCRIPTS = sorted([ROOT / "Makefile", ROOT / ".ci" / "run", ROOT / "docker" / "Dockerfile", *ROOT.glob("docker/*.sh")])
FLOWER = ("flwr", "flower-superlink", "flower-supernode", "flower-superexec")
# What may stand before a command: shell words, make's and the Dockerfile's, an environment, a service's ExecStart.
PREFIX = re.compile(
    r"(exec|sudo|time|nohup|then|do|else|if|!|RUN|\$|@)\s+|timeout \d+ |\w+=(?!/)\S*\s+|ExecStart=|@|\$\(BIN\)/"
)
OPTION = re.compile(r"--[a-z][a-z0-9-]*")
OPERATOR = "/opt/pfedgp/share/operator.sh"
TOP = (
    "client",
    "docker",
    "docs",
    "experiments",
    "pfedgp",
    "pfedgp_core",
    "scripts",
    "server",
    "tests",
    ".ci",
    ".github",
)


@lru_cache
def options_of(program: str, verb: str) -> frozenset[str]:
    """The options that the help of a command shows; of no command at all where the verb does not exist."""
    if program == "pfedgp":
        if verb and verb not in VERBS:
            return frozenset()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
            main([verb, "--help"] if verb else ["--help"])
        text = printed.getvalue()
    else:
        command = [Path(sys.executable).with_name(program), *verb.split(), "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})
        text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout) if done.returncode == 0 else ""
    return frozenset(OPTION.findall(text))


@lru_cache
def all_options() -> frozenset[str]:
    return frozenset().union(*(options_of("pfedgp", verb) for verb in ["", *VERBS]), *(_flower(p) for p in FLOWER))


def _flower(program: str) -> frozenset[str]:
    return (
        options_of(program, "run") | options_of(program, "supernode register")
        if program == "flwr"
        else options_of(program, "")
    )


def commands(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The calls of the tools in shell text: program, verb, options."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        for part in re.split(r"\|\||&&|[;|]", re.sub(r"(^|\s)#.*", "", line)):
            words = _words(part)
            if words and words[0] == "docker":
                words = _in_container(words)
            if not words or Path(words[0]).name not in ("pfedgp", *FLOWER):
                continue
            program, rest = Path(words[0]).name, words[1:]
            depth = {"pfedgp": 1, "flwr": 2 if rest[:1] in (["supernode"], ["federation"]) else 1}.get(program, 0)
            verb = [word for word in rest[:depth] if re.fullmatch(r"[a-z][a-z-]*", word)]
            yield program, " ".join(verb), [found[0] for word in rest if (found := OPTION.match(word))]


def _words(part: str) -> list[str]:
    part = part.strip()
    while found := PREFIX.match(part):
        part = part[found.end() :]
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()  # half of a quoted text


def _in_container(words: list[str]) -> list[str]:
    """What the image is called with: ``docker run pfedgp VERB`` or ``docker compose run runner VERB``, with options."""
    if "run" not in words or "--entrypoint" in words:
        return []
    after = words[words.index("run") + 1 :]
    for number, word in enumerate(after):
        if word in ("pfedgp", "pfedgp:cuda", "runner"):
            return ["pfedgp", *after[number + 1 :]]
    return []


def compose_text(text: str) -> str:
    """The commands of a compose file's services, a line each."""
    defaults = re.sub(r"\$\{\w+(?::-|:\?)?((?:[^{}]|\$\{[^{}]*\})*)\}", r"\1", text)
    lines = []
    for service in yaml.safe_load(re.sub(r"!(override|reset)\b", "", defaults)).get("services", {}).values():
        command: Any = service.get("command", [])
        if command and service.get("entrypoint", [OPERATOR]) == [OPERATOR]:
            lines.append(f"pfedgp {command if isinstance(command, str) else shlex.join(command)}")
    return "\n".join(lines)


def markdown_code(text: str) -> tuple[str, list[str]]:
    """The code blocks of a Markdown text, and its code spans."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join(blocks), [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def problems(text: str, kind: str) -> list[str]:
    """What is wrong in the text of a file; `kind` is its suffix, empty for a script."""
    spans: list[str] = []
    if kind == ".yml":
        text = compose_text(text)
    elif kind == ".md":
        text, spans = markdown_code(text)
        text += "\n" + "\n".join(spans)
    found = []
    for program, verb, options in commands(text):
        if program == "pfedgp" and verb and verb not in VERBS:
            found.append(f"{program} has no verb {verb}")
            continue
        known = options_of(program, verb) if program != "pfedgp" or verb else all_options()
        found += [
            f"{program} {verb} has no option {option}".replace("  ", " ") for option in options if option not in known
        ]
    for span in spans:
        if (bare := OPTION.match(span)) and bare[0] not in all_options():
            found.append(f"no tool has the option {bare[0]}")
    return found


def missing_files(text: str, folder: Path) -> list[str]:
    """Files that a Markdown text names, by links and by paths from the repository's root, and that do not exist.

    The first line of a Python block names a file that the reader makes.
    """
    text = re.sub(r"^(```python\n)# \S+\n", r"\1", text, flags=re.MULTILINE)
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (folder / link).exists()]
    code, spans = markdown_code(text)
    for name in [*spans, *code.split()]:
        path = name.rstrip("/:,")
        if re.fullmatch(rf"({'|'.join(map(re.escape, TOP))})/[\w.*/-]+", path) and not list(ROOT.glob(path)):
            missing.append(name)
    return missing


@pytest.mark.parametrize("path", [*DOCS, *COMPOSE, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_all_options_exist(path: Path) -> None:
    kind = path.suffix if path.suffix in (".md", ".yml") else ""
    assert problems(path.read_text(encoding="utf-8"), kind) == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_files_that_docs_name_exist(path: Path) -> None:
    assert missing_files(path.read_text(encoding="utf-8"), path.parent) == []


def test_commands_are_found_where_they_are() -> None:
    """The other tests would also pass if no command were recognised."""
    found = {
        "Makefile": commands((ROOT / "Makefile").read_text()),
        "compose": commands(compose_text((ROOT / "docker-compose.yml").read_text())),
        "data": commands((ROOT / "docker" / "data.sh").read_text()),
        "deploy": commands(markdown_code((ROOT / "docs" / "deploy.md").read_text())[0]),
        "containers": commands(markdown_code((ROOT / "docs" / "containers.md").read_text())[0]),
    }
    verbs = {name: {verb for _, verb, options in calls if options} for name, calls in found.items()}
    assert "export-client" in verbs["data"]
    assert "simulate" in {v for _, v, _ in commands("$(BIN)/pfedgp simulate $(A)")}
    assert verbs["compose"] == {"server", "client", "run"}
    assert verbs["deploy"] >= {"certs", "server", "client", "run", "doctor"}
    assert "resume" in {verb for _, verb, _ in commands("docker compose run --rm runner resume a")}
    assert verbs["containers"]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("pfedgp run --rounds 3", "", []),
        ("\texec pfedgp run --rounds 3 \\\n  --round 4", "", ["pfedgp run has no option --round"]),
        ("X=1 .venv/bin/pfedgp deploi --x", "", ["pfedgp has no verb deploi"]),
        ("pfedgp --rounds 3 && true", "", []),
        ("flower-superlink --insecure --grpc-rere", "", ["flower-superlink has no option --grpc-rere"]),
        ("flwr supernode register key --names a", "", ["flwr supernode register has no option --names"]),
        ("docker compose run --rm runner run --roundz 2", "", ["pfedgp run has no option --roundz"]),
        ("docker run --rm -v a:/a pfedgp --versions", "", ["pfedgp has no option --versions"]),
        ("docker build --build-arg A=b -t pfedgp . ; pip install --upgrade pfedgp", "", []),
        ("Say `pfedgp run --roundz 2` or `--rounds`.", ".md", ["pfedgp run has no option --roundz"]),
        ("Say `--roundz 2`, not --wrong in prose.", ".md", ["no tool has the option --roundz"]),
        ("```sh\npfedgp client --keyz a\n```", ".md", ["pfedgp client has no option --keyz"]),
        ("services: {a: {command: [client, --keyz=a]}}", ".yml", ["pfedgp client has no option --keyz"]),
        ("services: {a: {command: 'run ${R:---roundz 2}'}}", ".yml", ["pfedgp run has no option --roundz"]),
        ("services: {a: {entrypoint: [sh], command: [run, --keyz]}}", ".yml", []),
    ],
)
def test_the_lint_can_fail(text: str, kind: str, expected: list[str]) -> None:
    assert problems(text, kind) == expected


def test_missing_files_are_found() -> None:
    text = "[a](docs/none.md) [b](README.md) `docker/none.sh` `docker/Dockerfile` `docker/*.sh` https://e.org/docs/x.md"
    assert missing_files(text, ROOT) == ["docs/none.md", "docker/none.sh"]


def test_a_file_that_the_reader_makes_is_not_missed() -> None:
    assert missing_files("```python\n# docs/new.py\nopen('docs/none.py')\n# docs/old.py\n```", ROOT) == ["docs/old.py"]
