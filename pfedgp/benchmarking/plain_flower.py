"""FedAvg as a user of Flower would write it: Flower's own strategy, engine and messages, and the same network."""

import json
import logging
from collections.abc import Callable
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_client, simulated_summary
from pfedgp_core.files.json_file import parse_json
from pfedgp_core.model.softmax_network import SoftmaxNetwork

__all__ = ["app", "run_plain_flower"]

app = ClientApp()


def _network(settings: Settings) -> SoftmaxNetwork:
    about = simulated_summary(settings, 0)
    return SoftmaxNetwork.initial(settings, about.input_shape, len(about.class_names))


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train for one epoch by SGD."""
    torch.set_num_threads(1)
    settings = Settings.from_run_config(parse_json(str(message.content.config_records["config"]["settings"])))
    data = simulated_client(settings, int(context.node_config["partition-id"])).train
    network = _network(settings)
    network.load_state_dict(message.content.array_records["arrays"].to_torch_state_dict())
    optimiser = torch.optim.SGD(
        network.parameters(), settings.learning_rate, settings.momentum, weight_decay=settings.weight_decay
    )
    for rows in torch.randperm(len(data)).split(settings.batch_size):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(data.inputs[rows]), data.labels[rows]).backward()
        optimiser.step()
    content = RecordDict(
        {"arrays": ArrayRecord(network.state_dict()), "metrics": MetricRecord({"num-examples": len(data)})}
    )
    return Message(content, reply_to=message)


def run_plain_flower(settings: Settings, workers: int, note: Callable[[int], Any]) -> None:
    """Run ``rounds`` rounds of training.

    Parameters
    ----------
    settings : Settings
    workers : int
    note : callable
        Called with the number of each round that is done.
    """
    import flwr.simulation

    logging.getLogger("flwr").setLevel(logging.CRITICAL)
    server = ServerApp()

    def after(t: int, _: ArrayRecord) -> None:
        note(t)

    @server.main()
    def main(grid: Grid, _: Context) -> None:
        strategy = FedAvg(
            fraction_train=settings.clients_per_round / settings.clients,
            fraction_evaluate=0.0,
            min_train_nodes=settings.clients_per_round,
            min_available_nodes=settings.clients,
        )
        strategy.start(
            grid,
            ArrayRecord(_network(settings).state_dict()),
            num_rounds=settings.rounds,
            train_config=ConfigRecord({"settings": json.dumps(settings.to_run_config())}),
            evaluate_fn=after,
        )

    flwr.simulation.run_simulation(
        server,
        app,
        num_supernodes=settings.clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": workers, "logging_level": "ERROR", "log_to_driver": False},
        },
    )
