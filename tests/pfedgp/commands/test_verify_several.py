"""``pfedgp verify`` with several files: cases that refer to those of another file, given or in the same folder."""

import argparse
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pfedgp.commands import verify
from pfedgp_core.errors import ConfigError
from tests.pfedgp.commands.test_verify import PUBLIC

pytestmark = pytest.mark.slow

Case = dict[str, Any]
Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def public() -> dict[str, Case]:
    return {case["id"]: case for case in json.loads(PUBLIC.read_text(encoding="utf-8"))["cases"]}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: Path | str) -> tuple[int, list[str]]:
        parser = argparse.ArgumentParser()
        verify.add_arguments(parser)
        code = verify.main(parser.parse_args([str(each) for each in arguments]))
        return code, capsys.readouterr().out.splitlines()

    return run


def written(path: Path, *cases: Case) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, "cases": cases}), encoding="utf-8")
    return path


def test_a_case_may_refer_to_one_of_another_given_file(public: dict[str, Case], tmp_path: Path, run: Run) -> None:
    bound = written(tmp_path / "bounds" / "a.json", public["pac_n1_tau0"])
    node = written(tmp_path / "nodes" / "b.json", public["exact_n1_tau0"])
    assert run(bound)[0] == 1
    code, lines = run(bound, node, "--topic", "pac")
    assert code == 0
    assert lines[0] == f"{bound}:"
    assert lines[-1].startswith(f"{len(public['pac_n1_tau0']['asserts'])} passed, 0 failed")


def test_a_case_may_refer_to_one_of_a_file_in_the_same_folder(
    public: dict[str, Case], tmp_path: Path, run: Run
) -> None:
    bound = written(tmp_path / "a.json", public["pac_n1_tau0"])
    written(tmp_path / "b.json", public["exact_n1_tau0"])
    (tmp_path / "c.json").write_text("{", encoding="utf-8")
    assert run(bound)[0] == 0


def test_a_case_of_the_own_file_comes_first(public: dict[str, Case], tmp_path: Path, run: Run) -> None:
    """Another file has another case under the same id."""
    other = copy.deepcopy(public["exact_n1_tau0"])
    other["inputs"]["y"] = [1 - y for y in other["inputs"]["y"]]
    other["asserts"] = other["asserts"][:1]  # log p(y), which is the same for both sides
    files = [
        written(tmp_path / "a.json", public["pac_n1_tau0"], public["exact_n1_tau0"]),
        written(tmp_path / "b.json", other),
    ]
    code, lines = run(*files, "--topic", "pac")
    assert (code, [line for line in lines if line.startswith("FAIL")]) == (0, [])


def test_a_selection_may_be_of_one_file(public: dict[str, Case], tmp_path: Path, run: Run) -> None:
    files = [written(tmp_path / "a.json", public["fedavg"]), written(tmp_path / "b.json", public["tree_balanced4"])]
    code, lines = run(*files, "--topic", "tree")
    assert code == 0
    assert "in 1 cases" in lines[-1]
    with pytest.raises(ConfigError, match=r"a\.json, .*b\.json have no case with topic 'pg'; their topics are: fed"):
        run(*files, "--topic", "pg")


def test_one_id_in_two_files_is_named_with_its_own_topic(public: dict[str, Case], tmp_path: Path, run: Run) -> None:
    stars, name = public["fedavg"] | {"topic": "astrology"}, copy.deepcopy(public["fedavg"])
    name["asserts"] = [name["asserts"][0] | {"name": "the colour"}]
    _, lines = run(written(tmp_path / "a.json", stars), written(tmp_path / "b.json", name))
    assert lines[-1].endswith("topics astrology; values fedavg the colour.")
