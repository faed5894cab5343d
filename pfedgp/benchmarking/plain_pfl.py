"""FedAvg as pfl-research simulates it, in one process: the same network, clients and local steps, for comparison."""

import importlib.util
from collections.abc import Callable
from typing import Any

import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_client, simulated_summary
from pfedgp_core.model.softmax_network import SoftmaxNetwork

__all__ = ["PFL", "pfl_installed", "run_plain_pfl"]

PFL = "pfl"


def pfl_installed() -> bool:
    """Whether the package ``pfl`` can be imported."""
    return importlib.util.find_spec(PFL) is not None


class _Trained(torch.nn.Module):
    """The network with the two methods that pfl asks for."""

    def __init__(self, network: SoftmaxNetwork) -> None:
        super().__init__()
        self.network = network

    def loss(self, inputs: torch.Tensor, labels: torch.Tensor, **_: Any) -> torch.Tensor:
        """Mean cross entropy of a batch."""
        return torch.nn.functional.cross_entropy(self.network(inputs), labels)

    def metrics(self, *_: torch.Tensor, **__: Any) -> dict[str, Any]:
        """None: no evaluation is measured."""
        return {}


def run_plain_pfl(settings: Settings, note: Callable[[int], Any]) -> None:
    """Run ``rounds`` rounds of training.

    Parameters
    ----------
    settings : Settings
    note : callable
        Called with the number of each round that is done.
    """
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.callback.base import TrainingProcessCallback
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.metrics import Metrics
    from pfl.model.pytorch import PyTorchModel

    torch.set_num_threads(1)
    about = simulated_summary(settings, 0)
    network = _Trained(SoftmaxNetwork.initial(settings, about.input_shape, len(about.class_names)))

    def client(number: int) -> Dataset:
        data = simulated_client(settings, number).train
        return Dataset(raw_data=[data.inputs, data.labels], user_id=str(number))

    class Notes(TrainingProcessCallback):  # type: ignore[misc, unused-ignore]
        def after_central_iteration(self, *_: Any, central_iteration: int, **__: Any) -> tuple[bool, Metrics]:
            note(central_iteration + 1)
            return False, Metrics()

    clients = FederatedDataset(client, get_user_sampler("random", list(range(settings.clients))))
    model = PyTorchModel(
        model=network,
        local_optimizer_create=lambda weights, lr: torch.optim.SGD(
            weights, lr, settings.momentum, weight_decay=settings.weight_decay
        ),
        central_optimizer=torch.optim.SGD(network.parameters(), 1.0),
    )
    FederatedAveraging().run(
        algorithm_params=NNAlgorithmParams(
            central_num_iterations=settings.rounds,
            evaluation_frequency=settings.rounds + 1,
            train_cohort_size=settings.clients_per_round,
            val_cohort_size=None,
        ),
        backend=SimulatedBackend(training_data=clients, val_data=None),
        model=model,
        model_train_params=NNTrainHyperParams(
            local_batch_size=settings.batch_size,
            local_num_epochs=1,
            local_learning_rate=settings.learning_rate,
        ),
        model_eval_params=None,
        callbacks=[Notes()],
        send_metrics_to_platform=False,
    )
