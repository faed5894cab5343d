"""Cases of a federated round from numpy alone: gradients by hand, no code shared with the product."""

from typing import Any

import numpy as np

Params = dict[str, np.ndarray]
TOLERANCES = {"kind": "exact", "atol": 1e-10, "atol_float32": 2e-5}


def layers(params: Params) -> list[tuple[str, str]]:
    weights = sorted(name for name in params if name.startswith("W"))
    return [(name, "b" + name[1:]) for name in weights]


def activations(params: Params, X: np.ndarray) -> list[np.ndarray]:
    """Input of each layer, and the logits at the end."""
    values = [X]
    for i, (weight, bias) in enumerate(layers(params)):
        values.append((np.tanh(values[-1]) if i else values[-1]) @ params[weight].T + params[bias])
    return values


def probabilities(params: Params, X: np.ndarray) -> np.ndarray:
    powers = np.exp(activations(params, X)[-1])
    return powers / powers.sum(axis=1, keepdims=True)


def loss(params: Params, X: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(probabilities(params, X)[np.arange(len(y)), y]).mean())


def gradients(params: Params, X: np.ndarray, y: np.ndarray) -> Params:
    values, found = activations(params, X), {}
    back = (probabilities(params, X) - np.eye(len(values[-1][0]))[y]) / len(y)
    for i, (weight, bias) in reversed(list(enumerate(layers(params)))):
        entered = np.tanh(values[i]) if i else values[i]
        found[weight], found[bias] = back.T @ entered, back.sum(axis=0)
        back = (back @ params[weight]) * (1 - entered**2)
    return found


def trained(params: Params, client: dict[str, Any], lr: float, weight_decay: float, momentum: float) -> Params:
    now, velocity = dict(params), dict.fromkeys(params, 0.0)
    for rows in client["batches"]:
        gradient = gradients(now, client["X"][rows], client["y"][rows])
        for name, value in now.items():
            velocity[name] = momentum * velocity[name] + gradient[name] + weight_decay * value
        now = {name: now[name] - lr * velocity[name] for name in now}
    return now


def mean(parts: list[Params], weights: list[int] | None = None) -> Params:
    return {name: np.average([p[name] for p in parts], axis=0, weights=weights) for name in parts[0]}


def round_case(
    topic: str,
    sizes: list[int],
    counts: dict[str, int],
    absent: tuple[str, ...] = (),
    own: tuple[str, ...] = (),
    **sgd: Any,
) -> dict[str, Any]:
    """A case of ``fedavg``, ``fedper`` or ``lgfedavg``, with its values.

    ``sizes`` are the widths from inputs to classes, ``counts`` the clients' samples, ``sgd`` the settings of the steps.
    """
    rng = np.random.default_rng([*sizes, *counts.values()])
    names = ["W", "b"] if len(sizes) == 2 else [f"{kind}{i}" for i in range(1, len(sizes)) for kind in "Wb"]
    shapes = [shape for i in range(len(sizes) - 1) for shape in ((sizes[i + 1], sizes[i]), (sizes[i + 1],))]
    clients = [_client(rng, name, n, sizes) for name, n in counts.items()]
    shared = {name: rng.normal(size=s) for name, s in zip(names, shapes, strict=True) if name not in own}
    personal = {c: {n: rng.normal(size=s) for n, s in zip(names, shapes, strict=True) if n in own} for c in counts}
    present = [client for client in clients if client["name"] not in absent]
    after = {c["name"]: trained(shared | personal[c["name"]], c, **sgd) for c in present}
    uploads = [{name: w[name] for name in shared} for w in after.values()]
    servers = {"uniform": mean(uploads), "weighted": mean(uploads, [c["n"] for c in present])}
    kept = {c: {name: after.get(c, personal[c])[name] for name in own} for c in counts}
    values: dict[str, Any] = {"server_" + "shared_" * bool(own) + rule: value for rule, value in servers.items()}
    if own:
        values |= {f"personal_{name}": value for name, value in kept.items()}
        first = [probabilities(servers["uniform"] | kept[c["name"]], c["X"][:1])[0] for c in clients]
        values["probabilities_first_row"] = first
    else:
        values |= {f"client_update_{name}": value for name, value in after.items()}
        values["client_losses_before"] = [loss(shared, c["X"], c["y"]) for c in clients]
    kind = {"kind": "linear"} if len(sizes) == 2 else {"kind": "mlp", "hidden": sizes[1], "activation": "tanh"}
    inputs = {"model": {**kind, "d": sizes[0], "classes": sizes[-1]}, "clients": clients, **sgd}
    inputs |= {"shared": shared, "personal": personal, "personal_layers": own} if own else {"params": shared}
    inputs |= {"participants": [c["name"] for c in present]}
    asserts = [{"name": name, "value": value, **TOLERANCES} for name, value in values.items()]
    return plain({"id": f"{topic}-{sizes}", "topic": topic, "inputs": inputs, "asserts": asserts})


def _client(rng: np.random.Generator, name: str, n: int, sizes: list[int]) -> dict[str, Any]:
    X, y = rng.normal(size=(n, sizes[0])), rng.integers(0, sizes[-1], n)
    batches = [rng.permutation(n)[: rng.integers(1, n + 1)] for _ in range(6)]
    return {"name": name, "n": n, "X": X, "y": y, "batches": batches}


def plain(value: Any) -> Any:
    """Lists and numbers, as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
