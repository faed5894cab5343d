"""Certificates of grouped samples, such as images of patients: patients count, and never lie on two sides."""

import numpy as np
import pytest

from pfedgp_core.certificate.classifier import certify_classifier
from pfedgp_core.certificate.groups import means_of_groups, one_of_each
from pfedgp_core.certificate.held_out import certify_held_out
from pfedgp_core.certificate.pac_bayes import kl_inverse
from pfedgp_core.certificate.progressive import Answers, Progress, bound_progress, disagreement_bound, progress
from pfedgp_core.errors import DataError
from tests.certified import fitted

PATIENTS, IMAGES, DELTA, DRAWS = 20, 4, 0.05, 200


def nearest(x: np.ndarray, y: np.ndarray) -> Answers:
    """The label of the nearest sample: it knows every patient again."""
    return lambda rows: y[((rows[:, None] - x[None]) ** 2).sum(-1).argmin(1)]


def patients(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images that are nearly equal within a patient, and labels that are noise: every classifier errs on half."""
    number = np.repeat(np.arange(PATIENTS), IMAGES)
    x = rng.normal(size=(PATIENTS, 5))[number] + 1e-3 * rng.normal(size=(len(number), 5))
    shuffled = rng.permutation(len(number))
    return x[shuffled], rng.integers(0, 2, PATIENTS)[number[shuffled]], number[shuffled]


def violations(grouped: bool) -> dict[str, int]:
    """How often certificates of patients are below the true error of 1/2."""
    rng, found = np.random.default_rng(5), {"on the way": 0, "held-out": 0}
    for _ in range(DRAWS):
        x, y, number = patients(rng)

        def fit(rows: np.ndarray, x: np.ndarray = x, y: np.ndarray = y) -> Answers:
            return nearest(x[rows], y[rows])

        order = rng.permutation(PATIENTS if grouped else len(y))
        made = progress(fit, x, y, order, fit(np.arange(len(y))), groups=number if grouped else None)
        found["on the way"] += bound_progress(made, len(order), DELTA).on_the_way < 0.5
        # Half of the images, or of the patients, are kept out; of a patient one counts.
        kept = number % 2 == 0 if grouped else np.arange(len(y)) % 2 == 0
        tested = np.flatnonzero(kept)
        if grouped:
            tested = tested[one_of_each(number[tested], rng)]
        answers = fit(np.flatnonzero(~kept))(x[tested])
        found["held-out"] += certify_held_out(answers, y[tested], DELTA).bound < 0.5
    return found


@pytest.mark.slow
def test_images_of_the_same_patient_on_both_sides_break_certificates() -> None:
    assert violations(grouped=False) == {"on the way": DRAWS, "held-out": DRAWS}


def test_patients_that_count_do_not() -> None:
    found = violations(grouped=True)
    assert max(found.values()) <= 23  # binomial of 200 and .05: more has probability 1e-4
    assert found["held-out"] > 0  # which is exact, and errs now and then


def test_a_patient_is_on_one_side_of_every_step() -> None:
    rng = np.random.default_rng(0)
    x, y, number = patients(rng)
    fitted_on: list[set[int]] = []
    tested_on: list[set[int]] = []

    def fit(rows: np.ndarray) -> Answers:
        fitted_on.append(set(number[rows].tolist()))

        def answers(tested: np.ndarray) -> np.ndarray:
            own = [int(number[(x == row).all(1)][0]) for row in tested]
            tested_on.append(set(own))
            return np.zeros(len(tested), int)

        return answers

    found = progress(fit, x, y, rng.permutation(PATIENTS), lambda rows: np.zeros(len(rows), int), groups=number)
    assert found.steps == PATIENTS - PATIENTS // 2
    assert [len(each) for each in fitted_on] == list(range(PATIENTS // 2, PATIENTS))
    assert all(len(each) == 1 for each in tested_on)
    assert not any(a & b for a, b in zip(fitted_on, tested_on, strict=True))


def test_groups_have_shares_of_errors() -> None:
    labels, number = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 2, 2])
    new, whose = np.array([[0.0], [1.0], [1.0]]), np.array([7, 7, 9])

    def fit(rows: np.ndarray) -> Answers:
        return lambda tested: np.ones(len(tested), int) if tested is new else tested[:, 0].astype(int)

    features = np.array([[1], [1], [0], [1], [0], [0]])

    def deployed(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0].astype(int)

    found = progress(fit, features, labels, np.array([2, 1, 0]), deployed, new, groups=number, unlabelled_groups=whose)
    assert found == (0.5 + 1.0, 2, pytest.approx(0.25), 2)  # groups 1 and 0; half of group 7 differs, none of group 9
    bound = bound_progress(found, 3, 0.01, samples=6)
    assert bound.disagreement == disagreement_bound(0.25, 2, 0.01 * 0.2) == float(kl_inverse(0.25, np.log(500) / 2))
    with pytest.raises(DataError, match="6 labels of 3 groups"):
        progress(fit, features, labels, np.arange(6), deployed, groups=number)


def test_each_sample_is_a_group_of_its_own_where_none_are_named() -> None:
    rng = np.random.default_rng(2)
    x, y, _ = patients(rng)
    order = rng.permutation(len(y))

    def run(groups: np.ndarray | None) -> Progress:
        return progress(
            lambda rows: nearest(x[rows], y[rows]),
            x,
            y,
            order,
            nearest(x, y),
            x,
            groups=groups,
            unlabelled_groups=groups,
        )

    assert run(None) == run(np.arange(len(y)))


def test_one_of_each() -> None:
    number = np.array([3, 1, 3, 1, 3, 0])
    rng = np.random.default_rng(0)
    rows = [one_of_each(number, rng) for _ in range(3000)]
    assert all(sorted(number[each].tolist()) == [0, 1, 3] for each in rows)
    often = np.bincount(np.concatenate(rows), minlength=6) / len(rows)
    assert often == pytest.approx([1 / 3, 1 / 2, 1 / 3, 1 / 2, 1 / 3, 1], abs=0.03)
    assert means_of_groups([1, 0, 0, 1, 1, 0], number).tolist() == pytest.approx([0, 1 / 2, 2 / 3])


def test_a_certificate_says_what_it_counts() -> None:
    alone = certify_held_out([0] * 30, [0] * 30).to_dict()
    assert (alone["n"], alone["counts"], alone["samples"]) == (30, "samples", 30)
    assert "Single samples are counted: no two of them are of one patient" in alone["conditions"][0]
    of = certify_held_out([0] * 30, [0] * 30, samples=99).to_dict()
    assert (of["n"], of["counts"], of["samples"]) == (30, "groups", 99)
    assert of["deployed"]["bound"] == alone["deployed"]["bound"]
    assert "each group counts once" in of["conditions"][0]
    assert "None of the groups is one that the classifier was fitted on" in of["conditions"][0]


def test_pac_bayes_counts_groups() -> None:
    classifier, y = fitted(80, 2)
    single = certify_classifier(classifier, y, 4, 0.05)
    assert certify_classifier(classifier, y, 4, 0.05, groups=np.arange(80)).tree == single.tree
    pairs = certify_classifier(classifier, y, 4, 0.05, groups=np.arange(80) // 2)
    assert pairs.to_dict()["counts"] == "groups"
    assert (pairs.tree.n, pairs.samples) == (40, 80)
    assert pairs.tree.sign.empirical == pytest.approx(single.tree.sign.empirical)  # groups of the same size
    assert pairs.tree.sign.bound > single.tree.sign.bound
    with pytest.raises(DataError, match="20 groups of samples are too few"):
        certify_classifier(classifier, y, 4, 0.05, groups=np.arange(80) // 4)
