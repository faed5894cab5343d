"""Class-ratio correction: golden values, the literal formula, extreme and impossible counts."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.errors import DataError
from pfedgp_core.gp.class_ratio import apply_class_ratio, log_class_ratio
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.make import make_kernel
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation


def corrected(probabilities, *counts, smoothing):
    p = torch.tensor(probabilities, dtype=torch.float64)
    left, right = apply_class_ratio(p.log(), (1 - p).log(), *log_class_ratio(*counts, smoothing=smoothing))
    torch.testing.assert_close(left.exp() + right.exp(), torch.ones_like(p), rtol=0, atol=1e-12)
    return left.exp()


def test_golden_90_10(golden):
    case = golden.case("class_ratio_90_10")
    value = {a["name"]: a["value"] for a in case["asserts"]}["corrected"]
    own, inducing = case["inputs"]["n_data"], case["inputs"]["n_ind"]
    counts = (*own, own[0] + inducing[0], own[1] + inducing[1])
    got = corrected(case["inputs"]["p_first_in"], *counts, smoothing=0.0)
    torch.testing.assert_close(got, torch.tensor(value, dtype=torch.float64), rtol=0, atol=1e-12)
    ratio = log_class_ratio(*counts, smoothing=0.0)
    assert ratio == pytest.approx((math.log(9 / 7), math.log(1 / 3)), abs=1e-12)


@pytest.mark.parametrize(("name", "smoothing"), [("literal", 0.0), ("add-one smoothed", 1.0)])
def test_golden_side_without_data(golden, name, smoothing):
    case = golden.case("class_ratio_one_sided")
    value = {a["name"]: a["value"] for a in case["asserts"]}[name]
    got = corrected(case["inputs"]["p_left_in"], 7, 0, 10, 3, smoothing=smoothing)
    torch.testing.assert_close(got, torch.tensor(value, dtype=torch.float64), rtol=0, atol=1e-12)


def test_golden_node_on_the_stack_of_data_and_inducing_inputs(golden):
    case = golden.case("fixed_ipdata_a")
    x = {k: torch.tensor(v, dtype=torch.float64) for k, v in case["inputs"].items() if k != "kernel"}
    value = {a["name"]: a["value"] for a in case["asserts"]}
    kernel, tau = make_kernel("rbf"), case["inputs"]["tau"]
    train = FullGP(kernel, x["Xbar"], x["ybar"], tau, solver="dense")
    mu, v = train.predict(x["X"], x["omega_train"][None])
    stack, labels = torch.cat([x["X"], x["Xbar"]]), torch.cat([x["y"], x["ybar"]])
    mu_test, v_test = FullGP(kernel, stack, labels, tau, solver="dense").predict(x["Xs"], x["omega_test"][None])
    own, seen = (int(x["y"].sum()), int((1 - x["y"]).sum())), (int(labels.sum()), int((1 - labels).sum()))
    pair = log_sigmoid_expectation(mu_test, v_test)
    ratios = log_class_ratio(*own, *seen, smoothing=0.0)
    counts = log_class_ratio(*own, 1, 1, smoothing=0.0)  # of the authors' training code: p taken as balanced
    got = {
        "train mode: mu_star at X from (Xbar,ybar,omega_train)": (mu[0], 1e-9),
        "train mode: v_star": (v[0], 1e-9),
        "train mode: p_left times data class counts, renormalised": (
            apply_class_ratio(*log_sigmoid_expectation(mu, v), *counts)[0][0].exp(),
            2e-5,
        ),
        "train mode: log_p_y_omega of (Xbar,ybar)": (train.log_marginal(x["omega_train"][None])[0], 1e-9),
        "test mode: mu_star at Xs from stack [X;Xbar], omega_test in that order": (mu_test[0], 1e-9),
        "test mode: v_star": (v_test[0], 1e-9),
        "test mode: p_left": (pair[0][0].exp(), 2e-5),
        "test mode: corrected p_left": (apply_class_ratio(*pair, *ratios)[0][0].exp(), 2e-5),
    }
    for name, (result, tolerance) in got.items():
        expected = torch.tensor(value[name], dtype=torch.float64)
        torch.testing.assert_close(result, expected, rtol=0, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}")


def test_balanced_counts_change_nothing():
    p = torch.tensor([0.01, 0.5, 0.9])
    left, right = apply_class_ratio(p.log(), (1 - p).log(), *log_class_ratio(30, 30, 130, 130))
    torch.testing.assert_close(left.exp(), p)
    torch.testing.assert_close(right.exp(), 1 - p)


@given(
    st.tuples(*[st.integers(0, 10**6)] * 2),
    st.tuples(*[st.integers(1, 10**4)] * 2),
    st.floats(-200, 200),
    st.booleans(),
)
def test_any_counts_give_a_distribution_and_swapping_sides_swaps_it(own, seen, log_odds, smooth):
    smoothing = 1.0 if smooth or not sum(own) else 0.0
    f = torch.tensor([log_odds], dtype=torch.float64)
    sides = torch.nn.functional.logsigmoid(f), torch.nn.functional.logsigmoid(-f)
    left, right = apply_class_ratio(*sides, *log_class_ratio(*own, *seen, smoothing))
    assert float(left.exp() + right.exp()) == pytest.approx(1.0, abs=1e-12)
    swapped = apply_class_ratio(*sides[::-1], *log_class_ratio(*own[::-1], *seen[::-1], smoothing))
    torch.testing.assert_close(swapped[0], right)
    torch.testing.assert_close(swapped[1], left)


def test_no_data_on_either_side_is_neutral_for_balanced_inducing_inputs():
    assert log_class_ratio(0, 0, 5, 5) == pytest.approx((0.0, 0.0), abs=1e-15)


def test_a_certain_probability_survives_a_ratio_that_rules_it_out():
    left, right = apply_class_ratio(
        torch.tensor([-math.inf]), torch.tensor([0.0]), *log_class_ratio(5, 0, 8, 3, smoothing=0.0)
    )
    assert left.item() == -math.inf
    assert right.item() == 0.0


def test_training_ratio_counts_inducing_inputs_only():
    """One class against three, equally many inducing inputs a class, balanced data: the model saw 1 to 3."""
    assert log_class_ratio(40, 40, 5, 15, smoothing=0.0) == pytest.approx((math.log(2), math.log(2 / 3)))


def test_gradient_is_that_of_the_log_odds():
    logits = torch.tensor([-3.0, 0.2, 8.0], dtype=torch.float64, requires_grad=True)
    ratios = log_class_ratio(9, 1, 4, 12)

    def function(f):
        return apply_class_ratio(torch.nn.functional.logsigmoid(f), torch.nn.functional.logsigmoid(-f), *ratios)

    assert torch.autograd.gradcheck(function, (logits,))


@pytest.mark.parametrize("counts", [(0, 5, 0, 8), (5, 0, 8, 0), (-1, 5, 3, 3), (0, 0, 0, 0)])
def test_impossible_counts_are_named(counts):
    with pytest.raises(DataError, match="not defined"):
        log_class_ratio(*counts)


def test_no_data_without_smoothing_is_named():
    with pytest.raises(DataError, match="smoothing = 1"):
        log_class_ratio(0, 0, 3, 3, smoothing=0.0)
