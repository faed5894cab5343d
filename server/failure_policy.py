"""The failure policy: when failed clients end a run, and with which message."""

import logging
from collections.abc import Mapping

from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.replies import TrainReply
from pfedgp_core.words import few
from server.flower.reply_checks import Checked

__all__ = ["FailurePolicy"]

logger = logging.getLogger("pfedgp.server")


class FailurePolicy:
    """The settings on-failure, min-results and max-failed-rounds of one run.

    Attributes
    ----------
    failed_rounds : list of dict
        Rounds with too few good replies, in a row up to now: the reason of each client that failed, by name.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.failed_rounds: list[dict[str, str]] = []
        self._alone = ""  # the one client that took part in the last round

    def recall(self, failed_rounds: list[dict[str, str]]) -> None:
        """Take up the failed rounds of a run that goes on; one that they have ended gets its full number of tries."""
        ended = len(failed_rounds) >= self.settings.max_failed_rounds
        self.failed_rounds = [] if ended else failed_rounds

    def stop_after(self, t: int, failed: Mapping[str, str]) -> None:
        """End the run with RunFailedError where clients failed in round t and the settings say so.

        Called before the checkpoint of round t, which is done again when the run goes on.
        """
        if failed and self.settings.on_failure == "stop":
            raise RunFailedError(
                f"Round {t} had failures ({_named(failed)}) and on-failure is stop: see to these clients first."
            )

    def stop_after_test(self, failed: Mapping[str, str]) -> None:
        """End the run with RunFailedError where clients failed in the last test and the settings say so.

        All rounds are done, so that a run which goes on does nothing but the test.
        """
        if failed and self.settings.on_failure == "stop":
            raise RunFailedError(
                f"The test of the best model had failures ({_named(failed)}) and on-failure is stop: see to these "
                "clients first; a run that goes on repeats the test alone."
            )

    def count(self, t: int, training: Checked[TrainReply], several: bool) -> None:
        """Note whether round t had enough good replies.

        Parameters
        ----------
        t : int
        training : Checked
        several : bool
            Whether the run has several sites with data of their own, whose updates should not stand alone.
        """
        if len(training.accepted) >= self.settings.min_results:
            self.failed_rounds = []
            alone = next(iter(training.accepted)) if several and len(training.accepted) == 1 else ""
            if alone and alone != self._alone:
                logger.warning(
                    "round %d: %s alone took part, so that the new model is its own update; min-results = 2 keeps the "
                    "model in such rounds",
                    *(t, alone),
                )
            self._alone = alone
            return
        logger.warning(
            "round %d failed with %d of %d needed replies: the model stays as it was",
            *(t, len(training.accepted), self.settings.min_results),
        )
        self.failed_rounds.append(dict(training.failed))

    def give_up(self) -> None:
        """End the run with RunFailedError where too many rounds in a row have failed."""
        if len(self.failed_rounds) >= self.settings.max_failed_rounds:
            reasons = {name: reason for failed in self.failed_rounds for name, reason in failed.items()}
            raise RunFailedError(
                f"{len(self.failed_rounds)} rounds in a row had fewer than min-results = {self.settings.min_results} "
                f"usable replies ({_named(reasons)}); the clients' own logs say more."
            )


def _named(failed: Mapping[str, str]) -> str:
    return few([f"{name}: {reason}" for name, reason in sorted(failed.items())], 10)
