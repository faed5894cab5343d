"""The memory that this site may use, and whether a run keeps to it: known before anything of that size is made."""

from collections.abc import Mapping
from typing import Any

import torch

from client.foreign_code import is_deployed
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.memory import SHARE, MemoryLimit, inputs_need, require_memory
from pfedgp_core.model.needs import Workload, client_needs, model_needs
from pfedgp_core.site.trained_model import TrainedModel

__all__ = ["MAX_MEMORY", "require_room", "require_room_for_model", "site_limit"]

MAX_MEMORY = "max-memory"  # node config: gigabytes


def site_limit(node_config: Mapping[str, Any]) -> MemoryLimit:
    """What the site's operator gave, else most of this machine's memory.

    Raises
    ------
    ConfigError
        What was given is no amount of memory.
    """
    if not is_deployed(node_config):
        return MemoryLimit.of_machine()
    return MemoryLimit.given(str(node_config.get(MAX_MEMORY, "")))


def require_room(settings: Settings, data: ClientData, node_config: Mapping[str, Any]) -> None:
    """Make sure that this client's updates and evaluations can keep to the limit, on the device where its data are.

    Raises
    ------
    MemoryLimitError
        They cannot; the text says what needs most, and what makes it smaller.
    """
    labels, device = data.train.labels, data.train.inputs.device
    own = data.class_names and settings.classes == "own"
    classes = len(labels.unique()) if own else len(data.class_names)
    evaluated = max(len(data.validation), len(data.test))
    work = Workload(len(labels), classes, evaluated, accelerator=device.type != "cpu")
    shape = tuple(data.train.inputs.shape[1:])
    samples = sum(len(split) for split in (data.train, data.validation, data.test))
    needs = [inputs_need(samples, shape), *client_needs(settings, shape, len(data.class_names), work)]
    limit = site_limit(node_config)
    if device.type == "cuda" and not str(node_config.get(MAX_MEMORY, "")).strip():
        limit = MemoryLimit(SHARE * torch.cuda.mem_get_info(device)[1], "give device = cpu")
    require_memory(needs, limit)


def require_room_for_model(model: TrainedModel, node_config: Mapping[str, Any]) -> None:
    """Make sure that a published model can be built within the limit; raises as `require_room`."""
    needs = model_needs(model.settings, model.input_shape, len(model.class_names), copies=2)
    require_memory(needs, site_limit(node_config))
