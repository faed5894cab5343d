"""The Flower ClientApp: unpack a request, call the core, pack the reply."""

import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from client.messages import answers_errors, read_published, read_request, reply_to
from client.model import shared_state
from client.published import onboard_node
from client.site import load_site
from pfedgp_core.errors import DataError
from pfedgp_core.evaluation import evaluate_client
from pfedgp_core.exchange import OK, SPLITS, EvaluateReply, Hello, TrainReply, software_versions
from pfedgp_core.streams import Stream
from pfedgp_core.update import local_update

# One thread per client: simulated clients share the cores, and no float sum may depend on how many there are.
torch.set_num_threads(1)

app = ClientApp()


@app.query("hello")
@answers_errors
def hello(message: Message, context: Context) -> Message:
    """Say who this client is and what it has."""
    request = read_request(message)
    site = load_site(request.settings, context.node_config)
    data = site.data
    record = Hello(
        name=data.name,
        # Where there are no classes the labels are targets, which stay here.
        classes=tuple(data.train.labels.unique().tolist()) if data.class_names else (),
        class_names=tuple(data.class_names),
        n_train=len(data.train.labels),
        n_validation=len(data.validation.labels),
        n_test=len(data.test.labels),
        input_shape=tuple(data.train.inputs.shape[1:]),
        partition_hash=site.partition_hash,
        versions=software_versions(),
        mean=data.mean,
        std=data.std,
    )
    return reply_to(message, record)


@app.train()
@answers_errors
def train(message: Message, context: Context) -> Message:
    """Train the shared weights on this client's data."""
    request = read_request(message)
    settings, data = request.settings, load_site(request.settings, context.node_config).data
    state = shared_state(settings, data, request.shared_vector())
    result = local_update(state, data.train, settings, Stream(settings.seed, "train", request.round, data.name))
    record = TrainReply(
        name=data.name,
        status=result.status,
        n_train=len(data.train.labels),
        loss=result.loss,
        steps=result.steps,
        counters=dict(result.counters),
        seconds=result.seconds,
    )
    return reply_to(message, record, state.to_vector() if result.status == OK else None)


@app.evaluate()
@answers_errors
def evaluate(message: Message, context: Context) -> Message:
    """Fit the personal classifier under the received weights and measure it on validation or test data."""
    request = read_request(message)
    if request.split not in SPLITS:
        raise DataError(f"The server asks for the split {request.split!r}; known are {' and '.join(SPLITS)}.")
    settings, data = request.settings, load_site(request.settings, context.node_config).data
    state = shared_state(settings, data, request.shared_vector())
    stream = Stream(settings.seed, "evaluate", request.split, request.round, data.name)
    if request.split == "validation":
        result = evaluate_client(state, data.train, data.validation, settings, stream)
    else:
        result = evaluate_client(state, data.train, data.test, settings, stream, validation=data.validation)
    record = EvaluateReply(
        data.name, request.split, result.sums, dict(result.counters), result.seconds, result.calibration
    )
    return reply_to(message, record)


@app.query("onboard")
@answers_errors
def onboard(message: Message, context: Context) -> Message:
    """Make this site's personal classifier from a published model and the site's own data, which both stay here."""
    return reply_to(message, onboard_node(read_published(message), context.node_config))
