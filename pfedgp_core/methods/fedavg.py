"""FedAvg (McMahan et al. 2017): one network with a softmax head, the same for all clients."""

from pfedgp_core.methods.layered import LayeredMethod

__all__ = ["FedAvg"]


class FedAvg(LayeredMethod):
    """w_k = SGD(w; L_k) at each client, w = mean of w_k at the server. Nothing is personal."""

    name, exposed = "fedavg", True
