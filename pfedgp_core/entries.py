"""The kinds of entries in the registry: what a name stands for, and what settings and commands need to know of it."""

import importlib
from dataclasses import Field, dataclass, field
from typing import Any

__all__ = ["DatasetEntry", "Entry", "MethodEntry", "PartitionEntry", "TaskEntry", "VariantEntry"]


@dataclass(frozen=True)
class Entry:
    """One choice.

    Attributes
    ----------
    target : str
        ``package.module:name`` of the class or function.
    about : str
        What it is, in a few words, for help texts.
    """

    target: str
    about: str

    def load(self) -> Any:
        """Import what the entry names."""
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class MethodEntry(Entry):
    """A federated method: see `pfedgp_core.methods.base.Method`.

    Attributes
    ----------
    tasks : tuple of str
        What it can learn.
    settings : dict of str to Field
        Its own settings; their keys are ``METHOD.KEY``.
    gaussian : bool
        Whether its clients predict with Gaussian processes; to other methods variant, kernel and ``gp.*`` say nothing.
    whitens : bool
        Whether the covariance that is behind the shared model's values is the metric of the kernel at prediction.
    """

    tasks: tuple[str, ...] = ("classification",)
    gaussian: bool = False
    whitens: bool = False
    settings: dict[str, Field[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class VariantEntry(Entry):
    """A way in which a tree node becomes a GP, and all that others need to know of it.

    Attributes
    ----------
    needs_inducing : bool
        Whether the shared model holds inducing inputs for it. They can stand in for the data of a class too.
    labelled_inducing : bool
        Whether they are training points with labels, or with targets in regression. Training is then on them alone,
        which leaves nothing to the marginal objective, and prediction can do without the client's own data.
    no_certificate : str
        Why a PAC-Bayes certificate of such a classifier would not be true; empty where the theorem covers it.
    tasks : tuple of str
        Names in `TASKS`.
    """

    needs_inducing: bool = False
    labelled_inducing: bool = False
    no_certificate: str = "nobody has shown that its theorem covers this variant"
    tasks: tuple[str, ...] = ("classification",)


@dataclass(frozen=True)
class TaskEntry(Entry):
    """What samples are labelled with.

    Attributes
    ----------
    classes : bool
        Whether labels are classes of the federation, or numbers.
    """

    classes: bool = True


@dataclass(frozen=True)
class DatasetEntry(Entry):
    """A data set of simulations.

    Attributes
    ----------
    task : str
        What its labels are for, a name in `TASKS`; empty: what the run's settings say.
    files : bool
        Whether it needs files, which the setting ``data-root`` can name.
    sites : bool
        Whether its samples come from sites, which are the clients of a simulation where nothing else is said.
    own : bool
        Whether it is a user's own, which further settings describe.
    package : str
        The package that holds it, of pFedGP's extra of the same name; empty where it needs none.
    """

    task: str = "classification"
    files: bool = False
    sites: bool = False
    own: bool = False
    package: str = ""


@dataclass(frozen=True)
class PartitionEntry(Entry):
    """A way to split a data set over simulated clients.

    Attributes
    ----------
    summary : str
        What a client gets, for a run's first lines; fields of the settings in braces are filled in.
    sites : bool
        Whether it is by the sites of a data set, which its function then takes as the argument ``sites``.
    """

    summary: str = ""
    sites: bool = False
