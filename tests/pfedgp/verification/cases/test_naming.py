"""Names of values in their canonical form."""

import pytest

from pfedgp.verification.cases.naming import canonical, head, parameters


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mu_star", "mustar"),
        ("E f* = mean_c mu_c", "e fstar"),
        ("log_p_y_omega", "log p(y|w)"),
        ("log p(y|w)", "log p(y|w)"),
        ("log p(y)", "log p(y)"),
        ("KL[Q(f)||P(f)] = E_KL - MI", "kl[q(f)||p(f)]"),
        ("p_left with kss=8 (no jitter)", "p left with kss=8 (no jitter)"),
        ("E_log_sigma(f*)", "e log sigma(fstar)"),
    ],
)
def test_canonical_names(name, expected):
    assert head(name) == expected


def test_parameters_of_a_gradient_in_order():
    assert parameters(canonical("d log p(y) / d [log output_scale, log lengthscale, theta_0]")) == [
        "logoutputscale",
        "loglengthscale",
        "theta0",
    ]
    assert parameters(canonical("grad wrt log_noise_variance, theta[12]")) == ["lognoisevar", "theta12"]
