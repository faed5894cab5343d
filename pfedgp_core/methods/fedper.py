"""FedPer (Arivazhagan et al. 2019): a shared base under layers that stay with each client."""

from pfedgp_core.methods.layered import LayeredMethod

__all__ = ["FedPer"]


class FedPer(LayeredMethod):
    """(u, v_k) = SGD((u, v_k); L_k), both trained together; v_k stays with the client, u is averaged.

    ``fedper.personal-layers``: 0 is FedAvg, as many as the network has is the network alone.
    """

    name, keeps, exposed = "fedper", True, True

    @property
    def personal_layers(self) -> int:
        """The setting ``fedper.personal-layers``."""
        return int(self.option("personal-layers"))
