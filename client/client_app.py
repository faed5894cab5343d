"""The Flower ClientApp: unpack a request, call the core, pack the reply."""

from dataclasses import replace

import numpy as np
import torch
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from client.messages import Request, answers_errors, note_error, read_published, read_request, reply_to
from client.method import checked_update, received, site_method
from client.notices import note_notice
from client.progress import note_progress
from client.published import onboard_node
from client.residuals import outgoing
from client.site import Site, greeting, load_site
from client.state import ClientStates, client_states
from pfedgp_core.devices import explain_memory
from pfedgp_core.errors import DataError
from pfedgp_core.freed_memory import keep_freed_memory
from pfedgp_core.learning.privacy import private_update
from pfedgp_core.learning.timing import cpu_time
from pfedgp_core.methods.at_scales import scale_evidence
from pfedgp_core.methods.base import Method
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.output_scale import with_scale
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import CONFIG, OK, SCALES, SPLITS
from pfedgp_core.wire.notice import read_notice
from pfedgp_core.wire.replies import EvaluateReply, TrainReply

# One thread per client: simulated clients share the cores, and no float sum may depend on how many there are.
torch.set_num_threads(1)
keep_freed_memory()

app = ClientApp()


@app.query("hello")
@answers_errors
def hello(message: Message, context: Context) -> Message:
    """Say who this client is and what it has."""
    request = read_request(message)
    return reply_to(message, greeting(request.settings, context.node_config, request.spec))


@app.train()
@answers_errors
def train(message: Message, context: Context) -> Message:
    """Update on this client's data by the run's method; first evaluate what arrived, where a split is named."""
    request = read_request(message)
    settings, site = request.settings, load_site(request.settings, context.node_config, request.spec)
    data = site.data
    evaluation, evaluation_error = None, ""
    if request.split:
        try:
            # What arrived is the model of the round before.
            evaluation = _evaluate(request, site, request.round - 1, context)
        except Exception as error:  # noqa: BLE001 (the update does not depend on it)
            evaluation_error = note_error("the evaluation in a train request", error, context)
    stream = Stream(settings.seed, "train", request.round, data.name, device=site.device)
    with explain_memory(site.device):
        method, states, kept = _method(request, site, context)
        arrived = received(request, method, data)
        with cpu_time() as spent:
            update = checked_update(method, method.update(arrived.vector, kept, data.train, stream))
    if states:
        update.result.counters["state_lost"] += states.lost
        states.settle(request.accepted, request.best, request.round)
        states.put(request.round, kept if update.keep is None else update.keep)
    result, updated = private_update(
        settings, update.result, arrived.vector, arrived.vector if update.upload is None else update.upload
    )
    sent = updated if result.status == OK else None
    part = None if sent is None else arrived.part(sent)
    going = outgoing(request, method, context, data.name, part, result.counters)
    record = TrainReply(
        name=data.name,
        status=result.status,
        n_train=len(data.train.labels),
        loss=result.loss,
        steps=result.steps,
        gradients=result.gradients,
        counters=dict(+result.counters),
        seconds=result.seconds | spent,
        evaluation=evaluation,
        evaluation_error=evaluation_error,
    )
    note_progress(context.node_config, context.run_id, request.round, arrived.vector, sent, record)
    return reply_to(message, record, going)


@app.evaluate()
@answers_errors
def evaluate(message: Message, context: Context) -> Message:
    """Fit the personal classifier under the received weights and measure it on validation or test data."""
    request = read_request(message)
    site = load_site(request.settings, context.node_config, request.spec)
    answer = _at_scales if request.split == SCALES else _evaluate
    return reply_to(message, answer(request, site, request.round, context))


@app.query("onboard")
@answers_errors
def onboard(message: Message, context: Context) -> Message:
    """Make this site's personal classifier from a published model and the site's own data, which both stay here."""
    return reply_to(message, onboard_node(read_published(message), context.node_config))


@app.query("notice")
@answers_errors
def notice(message: Message, context: Context) -> Message:
    """Put the server's words to this site into its own log and state."""
    note_notice(context.node_config, context.run_id, *read_notice(message.content.config_records[CONFIG]))
    return Message(RecordDict(), reply_to=message)


def _method(request: Request, site: Site, context: Context) -> tuple[Method, ClientStates | None, np.ndarray | None]:
    """The run's method, the states that this client keeps where the method keeps any, and the one that counts now."""
    settings = with_scale(request.settings, request.scale) if request.scale else request.settings
    method = site_method(settings, site.data, context.node_config)
    states = client_states(context, request.run, site.data.name) if method.keeps else None
    return method, states, states.current(request.accepted) if states else None


def _evaluate(request: Request, site: Site, model_round: int, context: Context) -> EvaluateReply:
    """The personal classifier under what arrived, which round `model_round` made, on the split asked for."""
    if request.split not in SPLITS:
        raise DataError(f"The server asks for the split {request.split!r}; known are {' and '.join(SPLITS)}.")
    settings, data = request.settings, site.data
    stream = Stream(settings.seed, "evaluate", request.split, model_round, data.name, device=site.device)
    with explain_memory(site.device):
        method, states, kept = _method(request, site, context)
        with cpu_time() as spent:
            vector = received(request, method, data).vector
            if request.initial:  # no temperature is chosen for it: the sums that validation data have, and no more
                tested = replace(data, validation=data.test)
                result = method.evaluate(vector, kept, tested, "validation", stream)
            else:
                result = method.evaluate(vector, kept, data, request.split, stream, request.left_out)
    if states and states.lost:
        result.counters["state_lost"] += 1
    return EvaluateReply(
        data.name,
        request.split,
        result.sums,
        dict(result.counters),
        result.seconds | spent,
        result.calibration,
        result.own,
        result.evidence,
    )


def _at_scales(request: Request, site: Site, model_round: int, context: Context) -> EvaluateReply:
    """Likelihoods of this client's data at every output scale, under what arrived."""
    data = site.data
    stream = Stream(request.settings.seed, "scales", model_round, data.name, device=site.device)
    with explain_memory(site.device), cpu_time() as spent:
        method, _, kept = _method(request, site, context)
        vector = received(request, method, data).vector
        found = scale_evidence(method, vector, kept, data, stream, request.left_out)
    return EvaluateReply(data.name, request.split, MetricSums(), seconds=spent, scales=found)
