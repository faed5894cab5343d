"""Trees about a shared head: without own evidence they answer as the head, with it better, and left out without it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.errors import NonFiniteError
from pfedgp_core.model.shared_head import SharedHead
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Node
from pfedgp_core.tree.variants.prior_mean import node_log_odds

SETTINGS = Settings()
SMALL = replace(SETTINGS, gp=replace(SETTINGS.gp, output_scale=1e-6, jitter=1e-8, predict_chains=4))
OWN = [1, 3, 4, 6]  # of 8 classes


def head() -> SharedHead:
    made = SharedHead(5, 8)
    with torch.no_grad():
        made.weight.copy_(torch.randn(8, 5, generator=torch.Generator().manual_seed(1)))
        made.bias.copy_(torch.randn(8, generator=torch.Generator().manual_seed(2)))
    return made


def features(n: int, seed: int) -> Tensor:
    return 2.0 * torch.randn(n, 5, generator=torch.Generator().manual_seed(seed))


def labels(n: int) -> Tensor:
    return torch.tensor(OWN)[torch.arange(n) % len(OWN)]


def test_without_variance_a_tree_is_the_heads_softmax_over_its_classes() -> None:
    classifier = PersonalClassifier(SMALL, Stream(0), logits_of=head()).fit(features(20, 3), labels(20))
    new = features(6, 4)
    expected = torch.softmax(head()(new)[:, OWN].double(), 1)
    assert classifier.classes_.tolist() == OWN
    np.testing.assert_allclose(classifier.predict_proba(new), expected.detach(), atol=2e-5)
    np.testing.assert_allclose(
        np.exp(classifier.leave_one_out_log_proba()),
        torch.softmax(head()(features(20, 3))[:, OWN].double(), 1).detach(),
        atol=2e-5,
    )


def test_own_samples_correct_a_head_that_is_wrong_about_them() -> None:
    shared, rows = head(), features(40, 5)
    among_own = shared(rows)[:, OWN].argmax(1).detach()
    wrong = torch.tensor(OWN)[(among_own + 1) % len(OWN)]  # the client calls every class by another name
    classifier = PersonalClassifier(SETTINGS, Stream(0), logits_of=shared).fit(rows, wrong)
    assert (classifier.predict(rows) == wrong.numpy()).mean() > 0.9
    left_out = np.asarray(OWN)[classifier.leave_one_out_log_proba().argmax(1)]
    head_alone = np.asarray(OWN)[among_own.numpy()]
    assert (left_out == wrong.numpy()).mean() > (head_alone == wrong.numpy()).mean() + 0.2


def test_answers_do_not_depend_on_the_other_rows_of_a_call_and_have_an_uncertainty() -> None:
    classifier = PersonalClassifier(SETTINGS, Stream(0), logits_of=head()).fit(features(20, 3), labels(20))
    new = features(6, 4)
    whole = classifier.predict_with_uncertainty(new)
    np.testing.assert_allclose(classifier.predict_proba(new[2:3])[0], whole.probabilities[2], atol=1e-6)
    assert (whole.epistemic > -1e-9).all()


def test_for_two_classes_a_head_of_zeros_changes_no_bit() -> None:
    with_head, without = (
        PersonalClassifier(SETTINGS, Stream(0), logits_of=logits_of).fit(features(20, 3), labels(20) % 2 + 1)
        for logits_of in (SharedHead(5, 8), None)
    )
    assert all(torch.equal(a, b) for a, b in zip(with_head.omegas_, without.omegas_, strict=True))
    np.testing.assert_array_equal(with_head.predict_proba(features(4, 4)), without.predict_proba(features(4, 4)))


def test_a_head_that_gives_infinity_is_an_error_in_fits_and_answers() -> None:
    broken = head()
    with torch.no_grad():
        broken.weight.fill_(3e38)
    with pytest.raises(NonFiniteError, match="shared head gives NaN or infinity"):
        PersonalClassifier(SETTINGS, Stream(0), logits_of=broken).fit(features(8, 3), labels(8))
    classifier = PersonalClassifier(SETTINGS, Stream(0), logits_of=head()).fit(features(8, 3), labels(8))
    classifier.logits_of = broken
    with pytest.raises(NonFiniteError, match="shared head gives NaN or infinity"):
        classifier.predict_proba(features(8, 4))


@pytest.mark.parametrize("seed", [0, 1])
def test_paths_multiply_to_the_softmax(seed: int) -> None:
    logits = features(7, seed)[:, :3]
    root, below = (node_log_odds(logits, Node(0, *sides)) for sides in (((0, 2), (1,)), ((2,), (0,))))
    product = torch.sigmoid(root) * torch.sigmoid(below)
    torch.testing.assert_close(product, torch.softmax(logits, 1)[:, 2])
