"""The network alone at each client: the accuracy of the classic methods without a federation."""

from pfedgp_core.methods.layered import LayeredMethod

__all__ = ["LocalNetwork"]


class LocalNetwork(LayeredMethod):
    """Each client goes on training its own network whenever it is sampled; nothing is sent or received."""

    name, keeps = "local-network", True

    @property
    def personal_layers(self) -> int:
        """All."""
        return 10**9
