"""Whether a shared network that learns from the softmax head and from the trees about it is ahead of FedAvg.

    python experiments/joint_loss.py --data-root FILE --out results.jsonl [--runs FedAvg "sum, 1"] [--table]

Every run of `RUNS` trains a network and a softmax head of CIFAR-10's 500 clients with two classes each, 5 clients a
round and 20 mini-batches a visit. Some add the `loo` loss of the Gaussian processes whose prior mean is the head, which
is what a client will predict with: in steps on all of its data before or after the mini-batches, or in each of them.
Names that end with ``cosine`` have steps that fall from 0.1 to 0, those that end with ``varied`` shift and mirror the
images of mini-batches; FedAvg is there with either, so that each run is compared with a FedAvg of its own kind.

After the last round three classifiers are measured over their own classes at the first ``--evaluate`` clients, on the
last state and on a running average of the states: ``tree``, Gaussian processes about the head; ``tuned``, five passes
of the head over a client's data; ``head``, the head as it is. A line of the file is one of them. Runs whose last round
is in the file are not repeated. ``--table`` prints the file: accuracy also as difference from FedAvg with tuned heads,
with the standard error of that difference over clients.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from feature_training import FEDAVG, Run, Trained, trained
from features_and_heads import read
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.pixels import Inputs
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.data.simulated import simulated_client, simulated_summary
from pfedgp_core.heads.make import make_head
from pfedgp_core.learning.local_sgd import local_sgd, mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.make import make_method
from pfedgp_core.methods.pfedgp import PFedGP
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import OK

SHIFT = 4  # pixels that a varied image moves at most, along either axis


@dataclass(frozen=True)
class Loss:
    """What a visit minimises beside the cross entropy over all classes.

    Attributes
    ----------
    weight : float
        Of the trees' loss on each mini-batch.
    steps : int
        Steps of the trees' loss on all of a client's data; negative ones come before the mini-batches.
    rate : float
        Their size in units of the learning rate.
    own : float
        Share of the cross entropy that is over the client's own classes alone.
    smoothing : float
        Of the labels.
    """

    weight: float = 0.0
    steps: int = 0
    rate: float = 1.0
    own: float = 0.0
    smoothing: float = 0.0


class Varied:
    """Images of which every batch is shifted and mirrored at random; what is beyond an edge is the mean colour."""

    def __init__(self, images: Inputs, stream: Stream) -> None:
        self._images, self._rng = images, stream.numpy

    def __getitem__(self, rows: Any) -> Tensor:
        batch = self._images[rows]
        height, width = batch.shape[-2:]
        around = nn.functional.pad(batch, (SHIFT, SHIFT, SHIFT, SHIFT))
        places = self._rng.integers(0, 2 * SHIFT + 1, (len(batch), 2))
        made = torch.stack(
            [image[:, y : y + height, x : x + width] for image, (y, x) in zip(around, places, strict=True)]
        )
        mirrored = torch.from_numpy(self._rng.integers(0, 2, len(batch))).bool()
        return torch.where(mirrored[:, None, None, None], made.flip(-1), made)


class VariedFedAvg(FedAvg):
    """FedAvg on varied images."""

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``."""
        varied = TensorSplit(Varied(data.inputs, stream.child("varied")), data.labels)  # type: ignore[arg-type]
        return super().update(received, kept, varied, stream)


class Joint(PFedGP):
    """A shared head and the trees about it, trained together."""

    def __init__(
        self, settings: Settings, shape: tuple[int, ...], classes: int, loss: Loss = Loss(), varied: bool = False
    ) -> None:
        super().__init__(settings, shape, classes)
        self.loss, self.varied = loss, varied

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``."""
        state, result = self.shared_state(received, kept, data, stream).train(), UpdateResult()
        rate = self.settings.learning_rate
        trees = [
            partial(self._trees, state, data, stream.child("trees", i), result) for i in range(abs(self.loss.steps))
        ]
        plan = [(self._batches(state, data, stream, result), rate), (trees, rate * self.loss.rate)]
        for losses, size in plan if self.loss.steps >= 0 else reversed(plan):
            parameters = list(state.parameters())
            optimiser = SGD(parameters, size, 0.0, self.settings.weight_decay)
            local_sgd(parameters, losses, optimiser, self.settings.clip_norm, result)
        return Update(state.to_vector() if result.status == OK else None, None, result)

    def _batches(
        self, state: SharedState, data: TensorSplit, stream: Stream, result: UpdateResult
    ) -> Iterator[Callable[[], Tensor]]:
        settings, own = self.settings, data.labels.unique()
        images = Varied(data.inputs, stream.child("varied")) if self.varied else data.inputs
        rows = mini_batches(len(data), settings.batch_size, settings.local_steps, settings.local_epochs, stream)
        for step, chosen in enumerate(rows):
            batch = TensorSplit(images[chosen], data.labels[chosen])
            yield partial(self._batch, state, batch, own, stream.child("trees", "batch", step), result)

    def _batch(
        self, state: SharedState, batch: TensorSplit, own: Tensor, stream: Stream, result: UpdateResult
    ) -> Tensor:
        """The loss of a mini-batch."""
        assert state.head is not None
        loss, features = self.loss, state.network(batch.inputs[:])
        logits = state.head(features)
        found = (1 - loss.own) * nn.functional.cross_entropy(logits, batch.labels, label_smoothing=loss.smoothing)
        if loss.own:
            found = found + loss.own * nn.functional.cross_entropy(
                logits[:, own], torch.searchsorted(own, batch.labels)
            )
        if loss.weight:
            found = found + loss.weight * self._of_trees(state, features, batch.labels, stream, result)
        return found

    def _trees(self, state: SharedState, data: TensorSplit, stream: Stream, result: UpdateResult) -> Tensor:
        """The trees' loss on all data."""
        return self._of_trees(state, state.network(data.inputs[:]), data.labels, stream, result)

    def _of_trees(
        self, state: SharedState, features: Tensor, labels: Tensor, stream: Stream, result: UpdateResult
    ) -> Tensor:
        """Minus the mean log probability of each label from all others, 0-d; 0 where there is one class."""
        training = make_head(self.settings.replace(objective="loo")).training(state, labels, stream, result.counters)
        found = training.loss(features, 0) if training.learnable else None
        return 0 * features.sum() if found is None else found


class FromZeros(PFedGP):
    """A shared head that is zero before round 1: all classes have equal odds, and the network has no gradient."""

    def initial(self) -> np.ndarray:
        """See ``Method.initial``."""
        start = super().initial()
        start[-(self.settings.feature_dim + 1) * self.class_count :] = 0
        return start


SHARED: dict[str, Any] = {"objective": "softmax", "gp": replace(Settings().gp, prior_mean="head", output_scale=4.0)}
TUNED = FEDAVG | {"method": "fedavg-tuned"}
LOSSES = {
    "1 step after, 0.05": Loss(steps=1),
    "3 steps after, 0.05": Loss(steps=3),
    "3 steps after, 0.02": Loss(steps=3, rate=0.4),
    "3 steps after, 0.1": Loss(steps=3, rate=2.0),
    "3 steps before, 0.05": Loss(steps=-3),
    "3 steps before, 0.1": Loss(steps=-3, rate=2.0),
    "sum, 0.3": Loss(weight=0.3),
    "sum, 1": Loss(weight=1.0),
    "smoothed labels, 0.1": Loss(smoothing=0.1),
    "half over own classes": Loss(own=0.5),
}
STEPS: dict[str, Any] = {"learning_rate": 0.1}


def _kinds(name: str, changes: dict[str, Any], plain: Any, varied: Any) -> dict[str, Run]:
    """A run as it is, with falling steps, with varied images, and with both."""
    return {
        name: Run(changes, plain),
        f"{name}, cosine": Run(changes | STEPS, plain, cosine=True),
        f"{name}, varied": Run(changes, varied),
        f"{name}, cosine, varied": Run(changes | STEPS, varied, cosine=True),
    }


RUNS = {"head from zeros": Run(SHARED, FromZeros)} | _kinds("FedAvg", FEDAVG, make_method, VariedFedAvg)
for _name, _loss in LOSSES.items():
    RUNS |= _kinds(_name, SHARED, partial(Joint, loss=_loss), partial(Joint, loss=_loss, varied=True))


def reference(run: str) -> str:
    """The run of FedAvg that a run is compared with."""
    return "FedAvg" + "".join(f", {kind}" for kind in ("cosine", "varied") if run.endswith(kind) or f", {kind}," in run)


def measured(at: Trained, base: Settings, places: range, split: str) -> Iterator[dict[str, Any]]:
    """A line for each state and classifier."""
    shape = tuple(simulated_client(base, 0).train.inputs.shape[1:])
    heads: dict[str, Method] = {
        name: make_method(base.replace(**changes), shape, at.method.class_count)
        for name, changes in (("tree", SHARED), ("tuned", TUNED), ("head", FEDAVG))
    }
    sums = {(state, head): list[MetricSums]() for state in at.states for head in heads}
    for client in (simulated_client(base, i) for i in places):
        for (state, head), parts in sums.items():
            stream = Stream(base.seed, "head", client.name)
            # Shared state and network with a head have the same values in the same order.
            found = heads[head].evaluate(at.states[state], None, client, split, stream)
            parts.append(found.sums if found.own is None else found.own)  # type: ignore[arg-type]
    for (state, head), parts in sums.items():
        numbers = summarise(sum(parts, MetricSums()))
        counts = {"n": [each.n for each in parts], "correct": [each.correct for each in parts]}
        yield (
            {"state": state, "head": head, "split": split}
            | {k: numbers[k] for k in ("accuracy", "nll", "ece")}
            | counts
        )


def difference(line: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """Accuracy of the first minus that of the second, and its standard error over clients, in points."""
    n, apart = np.array(line["n"]), np.array(line["correct"]) - np.array(other["correct"])
    mean = apart.sum() / n.sum()
    return 100 * mean, 100 * float(np.sqrt(((apart - mean * n) ** 2).sum()) / n.sum())


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A row a line; of a line that comes twice the last one counts."""
    place = ("run", "seed", "split", "round", "state", "head")
    known = {tuple(line[k] for k in place): line for line in lines}
    columns = (*place, "accuracy, %", "minus FedAvg tuned, points", "NLL", "ECE", "CPU s")
    rows = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for (run, *where, head), line in known.items():
        other = known.get((reference(run), *where, "tuned"))
        apart = "" if other in (None, line) else "{:+.1f} ± {:.1f}".format(*difference(line, other))
        numbers = f"{100 * line['accuracy']:.1f} | {apart} | {line['nll']:.3f} | {line['ece']:.3f} | {line['cpu']:.0f}"
        rows.append(f"| {' | '.join(map(str, (run, *where, head)))} | {numbers} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """All runs that are asked for, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines; those that are there are kept")
    parser.add_argument("--table", action="store_true", help="print the table and train nothing")
    parser.add_argument("--runs", nargs="+", default=[], help=f"some of: {'; '.join(RUNS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dataset", default="cifar10")
    parser.add_argument("--data-root", default="", help="of the data set, as for pfedgp simulate")
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--evaluate", type=int, default=125, help="clients that are measured, the first ones")
    parser.add_argument("--splits", nargs="+", default=["validation"], choices=("validation", "test"))
    args = parser.parse_args(arguments)
    if args.table:
        print(table([line for line in read(args.out) if not args.runs or line["run"] in args.runs]))
        return
    if unknown := [name for name in args.runs if name not in RUNS]:
        parser.error(f"there is no run {unknown[0]!r}; there are: {'; '.join(RUNS)}")
    torch.set_num_threads(1)
    base = Settings(dataset=args.dataset, data_root=args.data_root, clients=args.clients, seed=args.seed)
    classes = len(simulated_summary(base, 0).class_names)
    for name in args.runs:
        place = {"run": name, "seed": args.seed, "round": args.rounds}
        if any(line | place == line for line in read(args.out)):
            continue
        for at in trained(RUNS[name], base, classes, [args.rounds]):
            found = [line for split in args.splits for line in measured(at, base, range(args.evaluate), split)]
            with args.out.open("a") as file:
                file.writelines(json.dumps(place | {"cpu": at.cpu} | line) + "\n" for line in found)


if __name__ == "__main__":
    main()
