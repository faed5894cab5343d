"""The agreement of sites on rules for the columns of their tables, before the federation's data are fixed.

Under ``column-rules-from = federated`` a site's first greeting tells what its table holds. Once enough sites are there,
their rules are fixed, and all are greeted again with them; whoever comes later gets them with the first greeting.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pfedgp_core.column_rules import FEDERATED, column_rules
from pfedgp_core.config import Settings
from pfedgp_core.data.column_names import is_hashed
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.data.tables.agreement import agreed_rules, of_another_kind
from pfedgp_core.data.tables.room import crowding_sites
from pfedgp_core.data.tables.summary import EMPTY
from pfedgp_core.data.usual_moments import usual_moments
from pfedgp_core.errors import DataError
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import counted, few
from server.clients.class_counts import crowding
from server.clients.columns import refuse_other_columns
from server.clients.membership import misfit, outsiders

__all__ = ["Agreement", "unlike_the_others"]

logger = logging.getLogger("pfedgp.server")


class Agreement:
    """Rules on which the sites of a run agree.

    Parameters
    ----------
    settings : Settings
        Of the run.

    Attributes
    ----------
    rules : str
        As the setting ``column-rules`` has them; empty before the agreement, and where there is none.
    open : bool
        Whether they are still to be agreed on.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.rules = ""
        self.open = settings.column_rules_from == FEDERATED

    @property
    def settings(self) -> Settings:
        """What a greeting is held against: the inputs are not known while the rules are not."""
        return self._settings.replace(input_shape="") if self.open else self._settings

    def adopt(self, rules: str) -> None:
        """Take the rules of a federation that is there already; empty: it has none."""
        self.rules, self.open = rules, False

    def completed(self, spec: DataSpec) -> DataSpec:
        """The description of the federation's data with the rules; one of a simulation has those of its sites."""
        if spec.rules:
            self._log(spec.rules)
        return replace(spec, rules=self.rules or spec.rules)

    def unfit(self, hello: Hello, spec: DataSpec | None) -> str:
        """Say why a client does not fit the federation; empty where it does, or takes part in a simulation.

        Parameters
        ----------
        hello : Hello
            One with a summary is not looked at after the agreement.
        spec : DataSpec, optional
            Of a federation that trains already.
        """
        if not hello.own_data or (hello.summary and not self.open):
            return ""
        return misfit(hello, self.settings, spec) or (self._untold(hello) if self.open else "")

    def _untold(self, hello: Hello) -> str:
        """Say why a site cannot agree with others; empty where it can."""
        if not hello.summary:
            return (
                f"{hello.name} sends no summary of its columns, and sites agree on rules by them (column-rules-from = "
                "federated): give it a table in CSV or Parquet, or have the run give its rules by file."
            )
        if not hello.columns or is_hashed(hello.columns):
            return f"{hello.name} sends a summary of columns without their names: run the same pfedgp version."
        try:
            _ = hello.table  # raises where it is none
        except DataError as error:
            return f"{hello.name} sends {error}: run the same pfedgp version on both sides."
        return ""

    def outsiders(self, hellos: Sequence[Hello]) -> dict[str, str]:
        """Sites that have another kind of values in a column than most, or far more texts; none after the agreement."""
        if not self.open:
            return {}
        tables = [hello.table for hello in hellos if hello.summary]
        refused = of_another_kind(tables)
        rest = [table for table in tables if table.site not in refused]
        return refused | crowding_sites(rest, self._settings.column_rules)

    def close(self, hellos: Sequence[Hello]) -> None:
        """Fix the rules, from all sites that are there.

        Raises
        ------
        RunFailedError
            They do not agree, or have different columns: a rule for what half of them lack would refuse these.
        """
        refuse_other_columns(hellos)
        self.adopt(agreed_rules([hello.table for hello in hellos if hello.summary], self._settings.column_rules))
        self._log(self.rules)

    def _log(self, rules: str) -> None:
        made, given = column_rules(rules).rules, column_rules(self._settings.column_rules)
        inputs = sum(len(rule.inputs) for rule in made)
        logger.info("the sites agree on rules for %s: %s", counted(len(made), "column"), counted(inputs, "input"))
        if left_out := [rule.name for rule in made if rule.kind == "ignore" and given.of(rule.name) is None]:
            logger.warning(
                "columns that are no feature, as their texts are too rare or too many to agree on: %s", few(left_out)
            )


def unlike_the_others(hellos: Sequence[Hello], agreement: Agreement) -> dict[str, str]:
    """Who of the clients that are there does not belong with most others, and why, by name."""
    there = _comparable(hellos)
    refused = outsiders(there) if there else {}
    refused |= agreement.outsiders([hello for hello in there if hello.name not in refused])
    return refused | crowding([hello for hello in there if hello.name not in refused], agreement.settings)


def _comparable(hellos: Sequence[Hello]) -> list[Hello]:
    """Greetings with summaries, in which a column without values has the moments that are usual at the other sites."""
    tables = {hello.name: hello.table for hello in hellos if hello.summary}
    usual = {}
    for name in {name for table in tables.values() for name in table.columns}:
        held = [t.columns[name] for t in tables.values() if name in t.columns and t.columns[name].kind != EMPTY]
        if held:
            means, stds = (np.array([[getattr(column, key)] for column in held]) for key in ("mean", "std"))
            centre, _, deviation = usual_moments(means, stds)
            usual[name] = float(centre[0]), float(deviation[0])

    def completed(hello: Hello) -> Hello:
        told = [
            usual[name] if column.kind == EMPTY and name in usual else (column.mean, column.std)
            for name, column in tables[hello.name].columns.items()
        ]
        mean, std = zip(*told, strict=True)
        return replace(hello, mean=mean, std=std)

    return [completed(hello) if hello.name in tables else hello for hello in hellos]
