"""The hyper-network: what it makes, and that the server's step is the gradient of the client's loss."""

import torch
from torch import nn

from pfedgp_core.learning.hypernetwork import HyperNetwork, hyper_sgd
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.numerics.streams import Stream

SHAPES = {"W": (2, 3), "b": (2,)}
X, Y = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).double(), torch.tensor([0, 1, 1, 0, 1])


def made() -> tuple[HyperNetwork, nn.Parameter]:
    network = HyperNetwork([4, 5, 6], SHAPES, Stream(0, "hyper")).double()
    return network, nn.Parameter(Stream(0, "embeddings").normal(3, 4, dtype=torch.float64))


def loss_of(theta: dict[str, torch.Tensor]) -> torch.Tensor:
    return nn.functional.cross_entropy(X @ theta["W"].T + theta["b"], Y)


def stepped(delta: torch.Tensor, momentum: float = 0.0, decay: float = 0.0, steps: int = 1):
    network, embeddings = made()
    optimiser = SGD([*network.parameters(), embeddings], 0.1, momentum, decay)
    for _ in range(steps):
        hyper_sgd(network, embeddings, 1, delta, optimiser, 1e9)
    return network, embeddings


def test_tensors_lie_in_the_vector_in_their_order():
    network, embeddings = made()
    parts = network.generated(embeddings[0])
    assert torch.equal(torch.cat([parts["W"].reshape(-1), parts["b"]]), network(embeddings[0]))


def test_one_inner_step_gives_the_gradient_through_the_hyper_network():
    network, embeddings = made()
    theta = {name: t.detach().requires_grad_() for name, t in network.generated(embeddings[1]).items()}
    slopes = torch.autograd.grad(loss_of(theta), list(theta.values()))
    delta = 0.3 * torch.cat([s.reshape(-1) for s in slopes])  # before minus after a step of size .3
    through = torch.autograd.grad(loss_of(network.generated(embeddings[1])), [*network.parameters(), embeddings])
    after, rows = stepped(delta)
    for p, before, slope in zip([*after.parameters(), rows], [*network.parameters(), embeddings], through, strict=True):
        torch.testing.assert_close(p, before - 0.1 * 0.3 * slope, rtol=0, atol=1e-14)


def test_no_difference_and_no_decay_move_nothing():
    (after, rows), (before, start) = stepped(torch.zeros(8, dtype=torch.float64)), made()
    assert torch.equal(rows, start)
    assert all(torch.equal(p, q) for p, q in zip(after.parameters(), before.parameters(), strict=True))


def test_with_biases_alone_and_a_step_of_one_it_is_fedavg_of_one_client():
    network = HyperNetwork([4, 5], SHAPES)
    embeddings, delta = nn.Parameter(torch.ones(3, 4)), torch.arange(8.0)
    hyper_sgd(network, embeddings, 0, delta, SGD([*network.parameters(), embeddings], 1.0, 0.0, 0.0), 1e9)
    torch.testing.assert_close(network(embeddings[2]), -delta)


def test_embeddings_of_absent_clients_decay():
    rows = stepped(torch.ones(8, dtype=torch.float64), decay=0.01)[1]
    torch.testing.assert_close(rows[0], 0.999 * made()[1][0], rtol=0, atol=1e-15)


def test_first_weights_follow_from_the_stream():
    assert torch.equal(made()[0](torch.ones(4).double()), made()[0](torch.ones(4).double()))
