"""One client's local update of kernel network and shared head by the head's cross entropy; no GP is sampled."""

from torch import nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.split_network import train_network
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream

__all__ = ["head_update"]


def head_update(state: SharedState, data: TensorSplit, settings: Settings, stream: Stream) -> UpdateResult:
    """Plain SGD on mini-batches, over all classes of the federation; `state` changes in place.

    A client trains the network and the head (FedAvg, McMahan et al. 2017), and what it will predict with is a Gaussian
    process about that head.

    Parameters
    ----------
    state : SharedState
        With a head.
    data : TensorSplit
        Inputs [N, ...] and class ids [N].
    settings : Settings
        ``batch-size``, ``local-steps`` or ``local-epochs``, and the step size. Without momentum, as twenty steps with
        0.9 make the network a constant.
    stream : Stream
        Derived from (run seed, round, client).

    Raises
    ------
    NonFiniteError
        The weights are not finite afterwards.
    """
    result = UpdateResult()
    if not len(data.labels):
        result.status = "no-data"
        return result
    assert state.head is not None
    count, size = len(data.labels), settings.batch_size
    batches = mini_batches(count, size, settings.local_steps, settings.local_epochs, stream)
    plain = settings.replace(momentum=0.0)
    with network_time(result):
        train_network(nn.Sequential(state.network, state.head), data, batches, plain, result)
    return result
