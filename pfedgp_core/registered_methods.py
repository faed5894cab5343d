"""The federated methods by name, with their own settings: a new one is one file and one entry here.

Imports none of them, so that settings, help texts and the command line know every choice at once.
"""

from dataclasses import Field
from typing import Any

from pfedgp_core.entries import MethodEntry
from pfedgp_core.setting import setting

__all__ = ["METHODS"]


def _covariance() -> dict[str, Field[Any]]:
    """Settings of a method that gathers a covariance within the classes; each method needs fields of its own."""
    return {
        "memory": setting(0.8, "part of the former covariance that the server keeps", low=0.0, high=1.0),
        "shrinkage": setting(0.1, "part of it that becomes its mean variance", low=0.0, high=1.0),
    }


# Method classes: see `pfedgp_core.methods.base.Method`.
METHODS: dict[str, MethodEntry] = {
    "pfedgp": MethodEntry(
        "pfedgp_core.methods.pfedgp:PFedGP",
        "shared kernel network, personal Gaussian processes",
        tasks=("classification", "regression"),
        gaussian=True,
    ),
    "fedavg": MethodEntry("pfedgp_core.methods.fedavg:FedAvg", "one network with a softmax head for all"),
    "fedper": MethodEntry(
        "pfedgp_core.methods.fedper:FedPer",
        "shared base, personal last layers",
        settings={
            "personal-layers": setting(
                1,
                "last layers of the network that stay with the client; the softmax head is the last",
                low=0,
                high=1000,
            )
        },
    ),
    "lg-fedavg": MethodEntry(
        "pfedgp_core.methods.lg_fedavg:LGFedAvg",
        "personal first layers, shared last ones",
        settings={
            "shared-layers": setting(
                2, "last layers of the network that are shared; the softmax head is the last", low=0, high=1000
            ),
            "fedavg-rounds": setting(
                0, "first rounds that are FedAvg, from whose network the personal layers begin", low=0, high=1_000_000
            ),
        },
    ),
    "fedu": MethodEntry(
        "pfedgp_core.methods.fedu:FedU",
        "a model for each client, drawn towards the others'",
        settings={
            "eta": setting(0.1, "weight of the distance between models", low=0.0, high=1e6),
            "weight": setting(0.5, "weight of every pair of clients in that distance", low=0.0, high=1e6),
            "clients": setting(0, "clients that the server has room for, 0 = clients", low=0, high=1_000_000),
        },
    ),
    "pfedme": MethodEntry(
        "pfedgp_core.methods.pfedme:PFedMe",
        "personal models near a shared one",
        settings={
            "lambda": setting(
                15.0, "weight of the distance of a personal model from the shared one", low=0.0, high=1e6
            ),
            "inner-steps": setting(5, "steps of the personal model on each mini-batch", low=1, high=10_000),
            "personal-rate": setting(0.05, "step size of these", low=1e-9, high=1e3),
            "beta": setting(1.0, "part of the way to the clients' mean that the server goes", low=0.0, high=10.0),
            "decay": setting(0.0, "weight decay of the personal model; 0.001 in the official code", low=0.0, high=1e3),
        },
    ),
    "fola": MethodEntry(
        "pfedgp_core.methods.fola:FOLA",
        "a Gaussian over one network for all, by Laplace's approximation",
        settings={
            "lambda": setting(1.0, "weight of the server's Gaussian in a client's loss", low=0.0, high=1e9),
            "epsilon": setting(1e-5, "smallest precision that the server divides by", low=1e-12, high=1.0),
            "untouched": setting(
                "mean",
                "weights whose precision is below epsilon: the clients' mean, or nearly zero as in the official code",
                choices=("mean", "zero"),
            ),
        },
    ),
    "pfedhn": MethodEntry(
        "pfedgp_core.methods.pfedhn:PFedHN",
        "networks that the server makes from embeddings of the clients",
        settings={
            "personal-layers": setting(
                1, "last layers that stay with the client (the variant PC); 0 = all are made", low=0, high=1000
            ),
            "clients": setting(0, "clients that the server has room for, 0 = clients", low=0, high=1_000_000),
            "embedding-dim": setting(0, "width of an embedding, 0 = 1 + a quarter of the clients", low=0, high=10_000),
            "hidden": setting(100, "width of the hyper-network's layers", low=1, high=100_000),
            "hidden-layers": setting(3, "its layers between the first and the heads", low=0, high=100),
            "server-rate": setting(0.05, "step size of hyper-network and embeddings", low=1e-9, high=1e3),
            "server-momentum": setting(0.9, "their momentum, which goes on over the rounds", low=0.0, high=0.9999),
            "server-decay": setting(1e-3, "their weight decay", low=0.0, high=1e3),
        },
    ),
    "per-fedavg": MethodEntry(
        "pfedgp_core.methods.per_fedavg:PerFedAvg",
        "one network that is good after one step on a client's data",
        settings={
            "alpha": setting(0.01, "size of that step", low=0.0, high=1e3),
            "form": setting(
                "fo",
                "gradient through it: first order, Hessian by differences, or exact",
                choices=("fo", "hf", "exact"),
            ),
            "delta": setting(1e-3, "hf: size of the difference, in gradients", low=1e-9, high=1e3),
        },
    ),
    "fedrep": MethodEntry(
        "pfedgp_core.methods.fedrep:FedRep",
        "shared base, a personal head that is trained first",
        settings={"head-epochs": setting(10, "passes of the head in an update, before the base", low=0, high=10_000)},
    ),
    "ditto": MethodEntry(
        "pfedgp_core.methods.ditto:Ditto",
        "FedAvg, and a personal network near it",
        settings={
            "lambda": setting(1.0, "weight of the distance of a personal network from the shared", low=0.0, high=1e6)
        },
    ),
    "fedbabu": MethodEntry(
        "pfedgp_core.methods.fedbabu:FedBABU",
        "shared base under a fixed head, tuned at evaluation",
        settings={
            "epochs": setting(5, "passes over the client's data at evaluation", low=0, high=10_000),
            "layers": setting("all", "what they train", choices=("head", "all")),
        },
    ),
    "fedprox": MethodEntry(
        "pfedgp_core.methods.fedprox:FedProx",
        "FedAvg with clients drawn back to their start",
        settings={"mu": setting(0.01, "weight of the distance from the network received", low=0.0, high=1e6)},
    ),
    "knn-per": MethodEntry(
        "pfedgp_core.methods.knn_per:KNNPer",
        "FedAvg, mixed with nearest neighbours at each client",
        settings={
            "weight": setting(0.5, "weight of the neighbours against the network", low=0.0, high=1.0),
            "neighbours": setting(10, "nearest samples that are asked", low=1, high=1_000_000),
            "scale": setting(1.0, "distance over which a neighbour's weight falls to 1/e", low=1e-9, high=1e9),
        },
    ),
    "fedavg-tuned": MethodEntry(
        "pfedgp_core.methods.fedavg_tuned:FedAvgTuned",
        "FedAvg, tuned on each client's data at evaluation",
        settings={
            "epochs": setting(5, "passes over the client's data at evaluation", low=0, high=10_000),
            "layers": setting("head", "what they train", choices=("head", "all")),
        },
    ),
    "class-mean": MethodEntry(
        "pfedgp_core.methods.class_mean:ClassMean",
        "pFedGP's features, nearest class mean",
        gaussian=True,
        settings={
            "scale": setting(6.0, "factor on cosine or distance in the softmax", low=0.0, high=1e6),
            "distance": setting("cosine", "from the means", choices=("cosine", "euclidean")),
        },
    ),
    "lda": MethodEntry(
        "pfedgp_core.methods.lda:LDA",
        "pFedGP's features, linear discriminants with a federated covariance",
        gaussian=True,
        settings=_covariance(),
    ),
    "whitened": MethodEntry(
        "pfedgp_core.methods.whitened:Whitened",
        "pFedGP on features whitened by a federated covariance within the classes",
        gaussian=True,
        whitens=True,
        settings=_covariance(),
    ),
    "softmax-head": MethodEntry(
        "pfedgp_core.methods.softmax_head:SoftmaxHeadOnFeatures",
        "pFedGP's features, logistic regression",
        gaussian=True,
        settings={
            "scale": setting(4.0, "factor on the features, which have length 1", low=1e-6, high=1e6),
            "rate": setting(0.05, "step size", low=1e-9, high=1e3),
            "steps": setting(100, "full-batch steps from zeros", low=0, high=1_000_000),
            "l2": setting(0.0, "weight decay of the weights", low=0.0, high=1e3),
        },
    ),
    "local": MethodEntry(
        "pfedgp_core.methods.local:Local",
        "the whole of pFedGP by each client alone",
        gaussian=True,
        settings={"epochs": setting(100, "passes over the client's data, once", low=1, high=1_000_000)},
    ),
    "local-network": MethodEntry(
        "pfedgp_core.methods.local_network:LocalNetwork", "a network with a softmax head by each client alone"
    ),
}
