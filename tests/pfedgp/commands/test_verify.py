"""``pfedgp verify``: the public cases pass, unseen ones are computed, and nothing is skipped or misread silently."""

import argparse
import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest

from pfedgp.commands import verify
from pfedgp_core.errors import ConfigError

pytestmark = pytest.mark.slow

PUBLIC = Path(__file__).parents[2] / "golden" / "golden_public.json"


@pytest.fixture(scope="module")
def public():
    return {case["id"]: case for case in json.loads(PUBLIC.read_text(encoding="utf-8"))["cases"]}


@pytest.fixture
def check(tmp_path, capsys):
    """Run the verb on some cases; return the exit code and the printed lines."""

    def run(cases, *options):
        path = tmp_path / "cases.json"
        path.write_text(json.dumps({"version": 1, "cases": cases}), encoding="utf-8")
        parser = argparse.ArgumentParser()
        verify.add_arguments(parser)
        code = verify.main(parser.parse_args([str(path), *options]))
        return code, capsys.readouterr().out.splitlines()

    return run


def failures(lines):
    return [line for line in lines if line.startswith("FAIL")]


def sampled(case):
    return any(a["kind"] == "mc" for a in case["asserts"])


def test_exact_public_cases_pass_in_both_precisions(public, check):
    cases = [case for case in public.values() if not sampled(case)]
    code, lines = check(cases, "--dtype", "both")
    assert failures(lines) == []
    assert code == 0
    assert sum("(float32)" in line for line in lines) > 50


def test_all_public_cases_pass(public, check):
    code, lines = check(list(public.values()))
    assert failures(lines) == []
    assert code == 0
    asserts = [a for case in public.values() for a in case["asserts"]]
    assert len(lines) == len(asserts) + 1
    assert f"{sum(a['kind'] != 'info' for a in asserts)} passed, 0 failed" in lines[-1]


def test_sampled_small_case_passes_with_another_seed(public, check):
    code, lines = check([public["omega_n2_tau0"], public["pg_moments_p"]], "--seed", "7")
    assert (code, failures(lines)) == (0, [])


@pytest.mark.parametrize("case_id", ["fixed_full_a_k0", "tree_balanced4", "calibration20", "pac_synth_0", "fedavg"])
def test_corrupted_value_fails(public, check, case_id):
    case = copy.deepcopy(public[case_id])
    first = case["asserts"][0]
    first["value"] = (np.array(first["value"]) + 0.01).tolist()
    code, lines = check([case])
    assert code == 1
    assert [line.split(" |err| ")[0] for line in failures(lines)] == [f"FAIL {case_id} {first['name']}"]


def test_renamed_case_and_its_reference_still_pass(public, check):
    case, node = copy.deepcopy(public["pac_n1_tau0"]), copy.deepcopy(public["exact_n1_tau0"])
    case["id"], node["id"], case["inputs"]["case"] = "bound", "the node", "the node"
    assert check([case, node], "--case", "bound")[0] == 0
    code, lines = check([case])
    assert code == 1
    assert all("refers to case 'the node'" in line for line in failures(lines))


@pytest.mark.parametrize("field", ["id", "topic", "inputs", "asserts"])
def test_case_without_a_field_is_one_sentence(public, check, field):
    case = copy.deepcopy(public["fedavg"])
    del case[field]
    with pytest.raises(ConfigError, match=f"has no field '{field}'; add it."):
        check([case])


@pytest.mark.parametrize("field", ["name", "value", "kind"])
def test_assert_without_a_field_is_one_sentence(public, check, field):
    case = copy.deepcopy(public["fedavg"])
    del case["asserts"][1][field]
    with pytest.raises(ConfigError, match=f"assert number 1 of case 'fedavg' has no field '{field}'"):
        check([case])


@pytest.mark.parametrize("content", [None, "{", "[1]", '{"cases": 3}', '{"version": 9, "cases": []}', '{"cases": []}'])
def test_unreadable_file_is_one_sentence(tmp_path, content):
    path = tmp_path / "cases.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    parser = argparse.ArgumentParser()
    verify.add_arguments(parser)
    with pytest.raises(ConfigError, match=r"cases\.json"):
        verify.main(parser.parse_args([str(path)]))


def test_two_cases_with_one_id_and_unknown_selections_are_refused(public, check):
    with pytest.raises(ConfigError, match="two cases with the id 'fedavg'"):
        check([public["fedavg"], public["fedavg"]])
    with pytest.raises(ConfigError, match="no case with id 'nothing'; its topics are: federated"):
        check([public["fedavg"]], "--case", "nothing")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_not_understood_fails(public, check, dtype):
    topic, name, kind, tolerance, empty = (copy.deepcopy(public["fixed_full_a_k0"]) for _ in range(5))
    for label, case in (("topic", topic), ("name", name), ("kind", kind), ("tolerance", tolerance), ("empty", empty)):
        case["id"], case["asserts"] = label, case["asserts"][:1]
    topic["topic"] = "astrology"
    name["asserts"][0]["name"] = "the colour of f"
    kind["asserts"][0]["kind"] = "guess"
    del tolerance["asserts"][0]["atol"]
    empty["asserts"] = []
    cases = [topic, name, kind, empty] + ([tolerance] if dtype == "float64" else [])
    code, lines = check(cases, "--dtype", dtype)
    assert code == 1
    assert len(failures(lines)) == len(cases)
    assert all("not understood" in line for line in failures(lines))


def test_summary_names_topics_and_values_that_are_not_understood(public, check):
    topic, name = (copy.deepcopy(public["fedavg"]) for _ in range(2))
    topic["id"], topic["topic"] = "stars", "astrology"
    name["asserts"][0]["name"] = "the colour"
    _, lines = check([topic, name])
    wanted = (
        f"{1 + len(topic['asserts'])} of the failed were not understood: topics astrology; values fedavg the colour."
    )
    assert lines[-1] == wanted


def test_file_of_unknown_topics_alone_is_no_success(public, check):
    case = public["fedavg"] | {"topic": "astrology"}
    assert check([case])[0] == 1


def test_specification_of_an_unknown_topic_is_no_success(public, check):
    table = {"name": "table", "value": [1], "kind": "spec"}
    assert check([public["fedavg"] | {"topic": "astrology", "asserts": [table]}])[0] == 1


def test_values_that_fail_are_not_called_not_understood(public, check):
    case = copy.deepcopy(public["fedavg"])
    case["asserts"][0]["value"][0] += 1
    assert " 1 failed" in check([case])[1][-1]


@pytest.mark.parametrize("name", ["tau", "omega", "Xs", "y", "X"])
def test_missing_input_is_named(public, check, name):
    case = copy.deepcopy(public["fixed_fitc_a"])
    case["asserts"] = case["asserts"][:1]
    del case["inputs"][name]
    if name == "omega":
        case["inputs"]["omega"] = [0.1]
    code, lines = check([case])
    assert code == 1
    assert f"'{name}'" in failures(lines)[0]


def test_malformed_inputs_fail_without_ending_the_run(public, check):
    case = copy.deepcopy(public["fedavg"])
    case["inputs"]["client_params"] = {"a": "b"}
    code, lines = check([case, public["tree_balanced4"]])
    assert code == 1
    assert len(failures(lines)) == 2
    assert any(line.startswith("PASS tree_balanced4") for line in lines)


def test_information_is_printed_and_does_not_count(public, check):
    case = copy.deepcopy(public["pac_synth_1"])
    case["asserts"] = case["asserts"][-1:]
    code, lines = check([case])
    assert code == 0
    assert lines[0].startswith("INFO pac_synth_1 literal paper value")
    assert lines[1].startswith("0 passed, 0 failed, 1 for information")
    assert "Nothing was compared" in lines[2]


@pytest.mark.parametrize(
    ("scale", "length", "tau", "extra", "n", "d"),
    [(3.0, 0.7, 0.01, 0.01, 7, 3), (20.0, 1.6, 0.0, 0.0, 4, 2), (5.0, 0.5, 0.1, 0.0, 25, 4)],
)
def test_unseen_node_with_other_kernel_and_wording(check, scale, length, tau, extra, n, d):
    rng = np.random.default_rng(n)

    def sphere(rows):
        x = rng.normal(size=(rows, d))
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def kernel(a, b):
        return scale * np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * length**2))

    X, Xs, y, w = sphere(n), sphere(5), rng.integers(0, 2, n), rng.gamma(2.0, 0.1, n)
    K, cross, kappa, kss = kernel(X, X) + tau * np.eye(n), kernel(X, Xs), y - 0.5, scale + extra
    A = np.linalg.inv(K + np.diag(1 / w))
    mu, v = cross.T @ A @ (kappa / w), kss - np.einsum("it,ij,jt->t", cross, A, cross)
    cov = np.linalg.inv(np.linalg.inv(K) + np.diag(w))
    log_p = -0.5 * np.linalg.slogdet(np.eye(n) + K * w)[1] + 0.5 * kappa @ cov @ kappa - n * math.log(2)
    values = {
        "mu*": mu,
        "Var f*": v,
        "E[f] of the training points": cov @ kappa,
        "Cov(f)": cov,
        "log p(y | ω)": log_p,
    }
    asserts = [{"name": k, "value": np.asarray(x).tolist(), "kind": "exact", "atol": 1e-8} for k, x in values.items()]
    asserts.append({"name": "v_star", "value": v[[3, 1]].tolist(), "kind": "exact", "atol": 1e-8, "test_index": [3, 1]})
    inputs = {"X": X, "Xs": Xs, "y": y, "omega": w}
    case = {
        "id": "unseen",
        "topic": "fixed_omega",
        "inputs": {k: x.tolist() for k, x in inputs.items()}
        | {"tau": tau, "kss": kss, "kernel": f"{scale:g}*exp(-|x-x'|^2/(2*{length}^2))"},
        "asserts": asserts,
    }
    code, lines = check([case])
    assert (code, failures(lines)) == (0, [])
