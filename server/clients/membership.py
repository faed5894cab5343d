"""Membership: whether a client belongs to a federation, and what the federation's data are.

Clients of a simulation share one partition and agree in everything. Sites with data of their own agree on nothing but
the shape of an input: before round 1 their classes become one list and their moments one normalisation.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.config import Settings
from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.spec import LARGEST_SHAPE, DataSpec, class_list, parse_shape, pooled_moments, union_of_classes
from pfedgp_core.errors import DataError, RunFailedError
from pfedgp_core.registry import TASKS
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import counted, few, shape_text
from server.clients.bounded_moments import bounded_moments
from server.clients.class_counts import too_many_classes
from server.clients.columns import (
    aligned,
    columns_misfit,
    refuse_other_columns,
    usual_columns,
    with_other_columns,
)
from server.clients.input_scales import HOPELESS_SCALE, impossible_moments, off_scale, on_another_scale
from server.clients.value_ranges import range_misfit, range_of, ranges_difference

__all__ = ["as_member", "common_spec", "difference", "misfit", "outsiders"]


def difference(hello: Hello, reference: Hello) -> str:
    """Say in which way a client does not belong with another one; empty where it does."""
    if hello.partition_hash != reference.partition_hash:
        mine, other = hello.partition_hash[:12] or "own data", reference.partition_hash[:12] or "own data"
        return (
            f"Clients do not share one partition ({hello.name}: {mine}, {reference.name}: {other}): "
            "give all of them the same data set and the same pfedgp version."
        )
    if hello.own_data:
        return ""
    if hello.class_names != reference.class_names:
        return f"{hello.name} and {reference.name} have different class lists: give all clients the same one."
    if (hello.mean, hello.std) != (reference.mean, reference.std):
        return f"{hello.name} and {reference.name} normalise their inputs differently: give both the same statistics."
    if hello.input_shape != reference.input_shape:
        return (
            f"{hello.name} has inputs of shape {list(hello.input_shape)}, {reference.name} of "
            f"{list(reference.input_shape)}: bring all clients' data to one shape."
        )
    return ""


def misfit(hello: Hello, settings: Settings, spec: DataSpec | None) -> str:
    """Say why a site's own data do not fit the federation; empty where they do.

    Parameters
    ----------
    hello : Hello
        Of a site with data of its own.
    settings : Settings
    spec : DataSpec, optional
        Of a federation that trains already; before that the settings alone are what a site can contradict.
    """
    if not len(hello.input_shape) or not len(hello.mean) == len(hello.std) == hello.input_shape[0]:
        return f"{hello.name} sends moments that do not fit its inputs: run the same pfedgp version on both sides."
    if not 0 < math.prod(hello.input_shape) <= LARGEST_SHAPE:
        return (
            f"{hello.name} has inputs of shape {shape_text(hello.input_shape)}: give each from 1 to {LARGEST_SHAPE:,} "
            "values."
        )
    if reason := impossible_moments(hello):
        return reason
    if spec and (reason := columns_misfit(hello, spec.columns)):
        return reason
    if spec and len(hello.input_shape) == len(spec.input_shape) and (reason := range_misfit(hello, spec.value_range)):
        return reason
    shape = spec.input_shape if spec else parse_shape(settings.input_shape)
    if shape is not None and hello.input_shape != shape:
        columns = len(hello.input_shape) == len(shape) == 1
        remedy = "give its table the same columns" if columns else "bring its data to that shape"
        return f"{_inputs_of(hello)}, the federation {_shape_of_others(shape)}: {remedy}."
    if spec and (reason := off_scale(hello, spec, HOPELESS_SCALE)):
        return reason
    return _misfit_of_classes(hello, settings, spec)


def _misfit_of_classes(hello: Hello, settings: Settings, spec: DataSpec | None) -> str:
    if not TASKS[settings.task].classes:
        return f"{hello.name} has classes, and this run is a {settings.task}." if hello.class_names else ""
    if reason := too_many_classes(hello, settings):
        return reason
    class_names = spec.class_names if spec else class_list(settings.class_names)
    if class_names:
        try:
            map_classes(hello.class_names, class_names)
        except DataError as error:
            return f"{hello.name} does not fit: {error}"
    return ""


def outsiders(hellos: Sequence[Hello]) -> dict[str, str]:
    """Find who does not belong with most of the others, before the federation's data are fixed.

    Parameters
    ----------
    hellos : sequence of Hello
        Of all clients that are there.

    Returns
    -------
    dict of str to str
        A reason by the client's name; empty also where there is no majority that could decide.
    """
    kinds = {hello.name: _kind(hello) for hello in hellos}
    (usual, count), *_ = Counter(kinds.values()).most_common(1)
    if 2 * count <= len(hellos):
        return {}
    members = [hello for hello in hellos if kinds[hello.name] == usual]
    refused = {}
    for hello in hellos:
        if reason := difference(hello, members[0]):
            refused[hello.name] = reason
        elif kinds[hello.name] != usual:
            same = len(hello.input_shape) == len(members[0].input_shape)
            other = columns_misfit(hello, usual_columns(members))
            refused[hello.name] = (
                other
                or (same and range_misfit(hello, range_of(members[0])))
                or (
                    f"{_inputs_of(hello)}, most sites {_shape_of_others(members[0].input_shape)}: "
                    f"{_to_one_shape([hello.input_shape, members[0].input_shape])}."
                )
            )
    if not members[0].own_data:
        return refused
    refused |= with_other_columns(members)
    return refused | on_another_scale([hello for hello in members if hello.name not in refused])


def _kind(hello: Hello) -> tuple[object, ...]:
    """What a client has to share with the others: all of a simulation, of data of its own shape and range."""
    if hello.own_data:
        return hello.partition_hash, hello.input_shape, range_of(hello)
    return hello.partition_hash, hello.class_names, hello.mean, hello.std, hello.input_shape


def _inputs_of(hello: Hello) -> str:
    shape = hello.input_shape
    if len(shape) == 1:
        return f"{hello.name} has {counted(shape[0], 'column')} beside the label"
    return f"{hello.name} has inputs of shape {shape_text(shape)}"


def _shape_of_others(shape: tuple[int, ...]) -> str:
    return f"{shape[0]}" if len(shape) == 1 else f"of {shape_text(shape)}"


def _to_one_shape(shapes: Sequence[tuple[int, ...]]) -> str:
    """What operators do about inputs of different shapes, as a part of a sentence."""
    tables = {len(shape) == 1 for shape in shapes}
    if tables == {True}:
        return "give all tables the same columns"
    return "set input-shape to have images resized" if tables == {False} else "give all sites data of one kind"


def common_spec(hellos: Sequence[Hello], settings: Settings) -> DataSpec:
    """Classes, shape and normalisation for all clients.

    Parameters
    ----------
    hellos : sequence of Hello
        Of all clients, at least one; of one simulation, or all with data of their own.
    settings : Settings

    Raises
    ------
    RunFailedError
        Clients of which some have data of their own and others not, or that are not of one simulation; sites whose
        inputs have different shapes or ranges, or who have no training sample or a single class between them.
    """
    first = hellos[0]
    for hello in hellos:
        if reason := difference(hello, first):
            raise RunFailedError(reason)
    if not first.own_data:
        told = (first.class_names, first.input_shape, first.mean, first.std, first.columns, first.value_range)
        return DataSpec(*told, first.rules)
    refuse_other_columns(hellos)
    if len({hello.input_shape for hello in hellos}) > 1:
        shapes = few([f"{hello.name}: {shape_text(hello.input_shape)}" for hello in hellos])
        remedy = _to_one_shape([hello.input_shape for hello in hellos])
        raise RunFailedError(
            f"The sites' inputs have different shapes ({shapes}): {remedy}, or leave a site out.",
            {
                hello.name: f"the sites' inputs have different shapes; {_inputs_of(hello)}: {remedy}."
                for hello in hellos
            },
        )
    if reason := ranges_difference(hellos):
        text = f"{reason}: bring all to one, or leave a site out."
        raise RunFailedError(text, dict.fromkeys((hello.name for hello in hellos), text))
    columns = usual_columns(hellos)
    holders = [aligned(hello, columns) for hello in hellos if hello.n_train]
    if not holders:
        raise RunFailedError("No connected site has training data: look at the sites' data with pfedgp check-data.")
    class_names: tuple[str, ...] = ()
    if TASKS[settings.task].classes:
        class_names = class_list(settings.class_names) or union_of_classes(hello.class_names for hello in hellos)
        if len(class_names) < 2:
            raise RunFailedError(
                f"All sites together have only the class {class_names[0]!r}: there is nothing to tell apart."
                if class_names
                else "The sites' data have no classes: give labelled data."
            )
    counts = bounded_counts([hello.n_train for hello in holders])
    mean, std = pooled_moments(counts, *bounded_moments(holders))
    if not (np.isfinite([*mean, *std]).all() and min(std) > 0):
        raise RunFailedError(
            f"The inputs of {few([hello.name for hello in holders])} have no common normalisation within the range of "
            "float32: rescale the features with very large or very small values."
        )
    return DataSpec(class_names, first.input_shape, mean, std, columns, range_of(first))


def as_member(hello: Hello, spec: DataSpec) -> Hello:
    """A site's greeting with the federation's class list and order of columns, its classes as positions in that."""
    hello = aligned(hello, spec.columns)
    if not hello.own_data or hello.class_names == spec.class_names:
        return hello
    ids = map_classes(hello.class_names, spec.class_names)
    return replace(hello, classes=tuple(sorted({int(ids[c]) for c in hello.classes})), class_names=spec.class_names)
