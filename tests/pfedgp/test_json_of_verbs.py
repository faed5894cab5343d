"""Every verb of a living site and of its governance answers with ``--json``, in fields that the docs name."""

import importlib
import json
import shutil
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.verbs import VERBS
from pfedgp_core.audit.log import FOLDER as AUDIT
from pfedgp_core.audit.log import AuditLog
from pfedgp_core.config import Settings
from pfedgp_core.policy.runs import Runs, run_hash
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import CLASSES, data, site_of
from tests.json_tables import TABLES, fields

ELSEWHERE = {"compare", "evaluate"}  # tests of these verbs have runs, and a federation, for them
BESIDE = {"certify", "check-data", "compare", "evaluate", "export", "predict"}  # of issue and pages, in other packages
KEY = run_hash(Settings())


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a classifier, new samples, and a state folder with a policy, a run that asks and a log."""
    folder = tmp_path_factory.mktemp("verbs")
    named_site(range(60)).save(folder / "ward")
    site_of(60).save(folder / "alone")  # without patients, of which the other one has three
    new = data(20, seed=7)
    np.savez(folder / "new.npz", x=new.inputs, y=np.array(CLASSES)[new.labels])
    assert main(["policy", "--state", str(folder / "state"), "--init"]) == 0
    (folder / "state" / "client.json").write_text('{"name": "ward"}')
    Runs.read(folder / "state").note_asked(Settings(), "7")
    AuditLog(folder / "state" / AUDIT).add(("sent", {"kind": "query.hello", "run": "7"}))
    return folder


@pytest.fixture
def place(untouched: Path, tmp_path: Path) -> Path:
    """A copy of it, which the verbs may change."""
    return Path(shutil.copytree(untouched, tmp_path / "verbs"))


def calls() -> Iterator[tuple[str, str]]:
    """A verb and its call; those of `BEFORE` need another one before them."""
    site, alone, state, new = "--site {0}/ward", "--site {0}/alone", "--state {0}/state", "{0}/new.npz"
    yield "key", "key --name ward-9 --out {0}"
    yield "policy", f"policy {state}"
    yield "approve", f"approve {state}"
    yield "approve", f"approve {KEY[:16]} {state} --yes"
    yield "approve", f"approve {KEY[:16]} {state} --revoke"
    yield "audit verify", f"audit verify {state}"
    yield "audit show", f"audit show {state}"
    yield "withdraw", f"withdraw {state} --yes"
    yield "predict", f"predict {site} --data {new} --out {{0}}/p.csv --explain 2"
    yield "suggest", f"suggest {site} --pool {new} --count 3"
    yield "watch", f"watch {site} --data {new}"
    yield "check-data", f"check-data {site}"
    yield "learn", f"learn {site} --data {new}"
    yield "learn --undo", f"learn {site} --undo"
    yield "learn --history", f"learn {site} --history"
    yield "forget", f"forget {site} --id a4"
    yield "certify", f"certify {alone} --unseen"
    yield "certify", f"certify {alone} --method held-out --data {new}"
    yield "certify", f"certify {alone} --method pac-bayes --unseen"
    yield "certify", f"certify {alone} --method data-prior --unseen"
    yield "export", f"export {alone} --onnx {{0}}/w.onnx"


_APPROVE, _LEARN = f"approve {KEY[:16]} --state {{0}}/state", "learn --site {0}/ward"
BEFORE = {
    f"{_APPROVE} --revoke": [f"{_APPROVE} --yes"],
    f"{_LEARN} --undo": [f"{_LEARN} --data {{0}}/new.npz"],
}


def answer(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    code, out = main([*words, "--json"]), capsys.readouterr()
    assert code in (0, 3), out.err
    return dict(json.loads(out.out))


@pytest.mark.parametrize(("verb", "call"), list(calls()), ids=[call.replace("{0}/", "") for _, call in calls()])
def test_all_fields_are_documented(verb: str, call: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if verb == "export":
        pytest.importorskip("onnxruntime")
    for needed in BEFORE.get(call, ()):
        answer(needed.format(place).split(), capsys)
    found = set(answer(call.format(place).split(), capsys))
    assert found
    assert found - fields(verb) == set()


def test_no_verb_is_left_out() -> None:
    own = {name for name, verb in VERBS.items() if verb.module.startswith(("pfedgp.living.", "pfedgp.governance."))}
    assert {name.split()[0] for name in TABLES} == own | BESIDE
    assert {verb for verb, _ in calls()} | ELSEWHERE == set(TABLES)


@pytest.mark.parametrize("verb", sorted({name.split()[0] for name in TABLES}))
def test_the_verb_has_the_option(verb: str) -> None:
    parser = ArgumentParser()
    importlib.import_module(VERBS[verb].module).add_arguments(parser)
    assert "--json" in parser.format_help()


def test_a_table_on_the_standard_output_leaves_no_place_for_json(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", "--site", str(place / "ward"), "--data", str(place / "new.npz"), "--out", "-", "--json"]
    assert main(words) == 2
    assert "give --out a file" in capsys.readouterr().err
