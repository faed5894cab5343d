"""Settings of the Gaussian process at a tree node: the group ``gp.*`` of `pfedgp_core.config.Settings`."""

from dataclasses import dataclass

from pfedgp_core.registry import KERNELS
from pfedgp_core.setting import setting

__all__ = ["GPSettings"]


@dataclass(frozen=True)
class GPSettings:
    """The Gaussian process at a tree node (keys ``gp.*``)."""

    kernel: str = setting("rbf", "kernel on the features", choices=KERNELS)
    output_scale: float = setting(32.0, "prior variance of a latent value; the paper has 8", low=1e-6, high=1e6)
    length_scale: float = setting(
        1.0, "length scale of the kernel, in units of unit-sphere features", low=1e-6, high=1e6
    )
    prior_mean: str = setting(
        "zero",
        "prior mean of the latent functions: zero (paper), or the log odds of a softmax head that all clients share",
        choices=("zero", "head"),
    )
    jitter: float = setting(1e-3, "added to the diagonal of every kernel matrix", low=1e-8, high=1.0)
    train_chains: int = setting(20, "parallel Gibbs chains in training", low=1, high=1000)
    predict_chains: int = setting(30, "parallel Gibbs chains in prediction", low=1, high=10000)
    sweeps: int = setting(5, "Gibbs sweeps of each chain, from a draw of the prior", low=1, high=10000)
    predict_sweeps: int = setting(20, "Gibbs sweeps in prediction; 0 = as many as gp.sweeps", low=0, high=10000)
    holdout: float = setting(
        0.5, "share of each node side that the predictive objective holds out", low=0.01, high=0.99
    )
    quadrature: int = setting(0, "Gauss-Hermite nodes for E sigma(f*); 0 = the closed form", low=0, high=128)
    link: str = setting(
        "arith", "node probability; unused in regression", choices=("arith", "chain-geo", "paper-explog")
    )
    solver: str = setting("auto", "linear algebra of a node", choices=("auto", "dense", "iterative"))
    choose_scale: bool = setting(
        False, "choose the output scale of predictions after the last round, by the clients' likelihoods at some scales"
    )
    learn_scales: bool = setting(False, "learn output-scale and length-scale as shared parameters")
    scale_rate: float = setting(
        20.0, "learned scales: step size of their logarithms, in units of learning-rate", low=0.0, high=1e4
    )
    noise_variance: float = setting(
        0.3,
        "regression: noise of standardised targets before round 1; learned as a shared parameter",
        low=1e-3,
        high=1e3,
    )
