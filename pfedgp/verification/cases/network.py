"""The network of a baseline's case, with the case's own names for its parameters."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pfedgp.verification.cases.format import Inputs, NotUnderstood

__all__ = ["CaseNetwork", "named_tensors"]


class CaseNetwork(nn.Module):
    """Logits of a linear model, or of a multi-layer perceptron with tanh.

    Parameters
    ----------
    model : mapping
        ``kind``: ``linear`` has the parameters W [classes, d] and b [classes]; ``mlp`` has W1, b1, W2, b2 and as many
        layers more as there are.
    tensors : mapping of str to Tensor
        The parameters by name, in any order.

    Raises
    ------
    NotUnderstood
        Another kind or activation, or other names.
    """

    def __init__(self, model: Mapping[str, object], tensors: Mapping[str, Tensor]) -> None:
        super().__init__()
        if model.get("activation", "tanh") != "tanh":
            raise NotUnderstood(f"the activation {model['activation']!r} is not known")
        self._layers = _layers(model.get("kind"), len(tensors) // 2)
        names = [name for layer in self._layers for name in layer]
        if set(names) != set(tensors):
            raise NotUnderstood(f"the parameters {sorted(tensors)} are not {names}")
        for name in names:
            self.register_parameter(name, nn.Parameter(tensors[name].clone()))

    def forward(self, inputs: Tensor) -> Tensor:
        """Shapes: [N, d] -> logits [N, classes]."""
        for i, (weight, bias) in enumerate(self._layers):
            inputs = torch.tanh(inputs) if i else inputs
            inputs = nn.functional.linear(inputs, self.get_parameter(weight), self.get_parameter(bias))
        return inputs


def _layers(kind: object, count: int) -> list[tuple[str, str]]:
    if kind == "linear":
        return [("W", "b")]
    if kind == "mlp":
        return [(f"W{i}", f"b{i}") for i in range(1, count + 1)]
    raise NotUnderstood(f"the model {kind!r} is not known")


def named_tensors(values: Mapping[str, object], dtype: torch.dtype) -> dict[str, Tensor]:
    """The arrays of an input by name: matrices, and biases in one dimension."""
    inputs = Inputs(values)
    return {name: inputs.tensor(name, dtype, 2 if name.startswith("W") else 1) for name in values}
