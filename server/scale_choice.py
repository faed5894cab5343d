"""The output scale with which the best model predicts: one exchange after the last round, before the test."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.metrics.output_scale import ScaleEvidence, ScaleSums, choose_scale, scale_grid, with_scale
from pfedgp_core.words import counted, few
from server.exchanged import Evaluation

__all__ = ["ScaleChoice"]

logger = logging.getLogger("pfedgp.server")


@dataclass(frozen=True)
class ScaleChoice:
    """What was chosen.

    Attributes
    ----------
    settings : Settings
        Of the run, at the scale with which its best model predicts.
    rule : str or None
        What chose the scale, in words; None where nothing did and it is the run's.
    trained_at : float
        The run's output scale.
    cpu : float
        CPU seconds that the clients spent on it.
    unread : tuple of str
        Names of clients whose likelihoods are of another number of scales than they were asked for.
    """

    settings: Settings
    rule: str | None = None
    trained_at: float = 0.0
    cpu: float = 0.0
    unread: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings, told: Evaluation, untrained: Collection[str]) -> "ScaleChoice":
        """Choose by what clients have told of their likelihoods at every scale.

        Parameters
        ----------
        settings : Settings
            Of the run.
        told : Evaluation
            The clients' answers.
        untrained : collection of str
            Names of clients whose data never trained the model, so that these say something when they are left out one
            by one. The validation data of all clients do.
        """
        found = {name: a.reply.scales for name, a in told.replies.accepted.items() if a.reply.scales is not None}
        size = len(scale_grid(settings))
        left_out = {name: s for name, each in found.items() if name in untrained and _is(s := each.left_out, size)}
        validation = {name: s for name, each in found.items() if _is(s := each.validation, size)}
        unread = tuple(sorted(name for name, each in found.items() if _is_of_other_scales(each, size)))
        if unread:
            logger.warning("%s", _of_other_scales(unread))
        names = sorted({*left_out, *validation})
        chosen = choose_scale([left_out.get(n, ScaleSums()) + validation.get(n, ScaleSums()) for n in names], settings)
        trained_at, cpu = settings.gp.output_scale, told.cpu_seconds
        if chosen is None:
            return cls(settings, None, trained_at, cpu, unread)
        parts = [f"validation data of {counted(len(validation), 'client')}"] if validation else []
        if left_out:
            parts.append(f"leave-one-out on the data of {counted(len(left_out), 'client')} that never trained")
        return cls(with_scale(settings, chosen), " and ".join(parts), trained_at, cpu, unread)

    @property
    def chosen(self) -> float:
        """The scale; 0 where nothing was chosen."""
        return 0.0 if self.rule is None else self.settings.gp.output_scale

    def results(self) -> dict[str, Any]:
        """What summary and model say of it; nothing where nothing was chosen."""
        return {} if self.rule is None else {"output_scale": self.chosen, "scale_rule": self.rule}

    def note(self) -> list[str]:
        """Sentences for the summary's notes: what was chosen, and whose likelihoods had no part."""
        notes = [_of_other_scales(self.unread)] if self.unread else []
        if self.rule is not None:
            notes.append(
                f"predictions are at output scale {self.chosen:g} (by {self.rule}); training was at {self.trained_at:g}"
            )
        return notes


def _is(sums: ScaleSums, size: int) -> bool:
    return bool(sums.n) and len(sums.values) == size


def _is_of_other_scales(evidence: ScaleEvidence, size: int) -> bool:
    return any(sums.n and len(sums.values) != size for sums in (evidence.validation, evidence.left_out))


def _of_other_scales(names: Sequence[str]) -> str:
    return (
        f"{few(names)} told likelihoods of another number of output scales than they were asked for, which have no "
        "part in the choice: let these sites run the server's version of pFedGP"
    )
