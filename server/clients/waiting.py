"""Waiting for clients: how long, for which ones, and the messages meanwhile."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from flwr.serverapp import Grid

from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.words import counted, few
from server.clients.notices import tell_the_end
from server.flower.messages import Poll

if TYPE_CHECKING:
    from server.clients.roster import Roster

__all__ = [
    "BROKEN_PATIENCE",
    "RESUME_PATIENCE",
    "RETURN_PATIENCE",
    "WAITING_LOG_INTERVAL",
    "wait_for_clients",
    "wait_for_returning",
]

logger = logging.getLogger("pfedgp.server")

# Seconds after which a federation in which no connected client can take part is not worth waiting for.
BROKEN_PATIENCE = 10.0
WAITING_LOG_INTERVAL = 20.0
# Seconds that a resumed run waits for all sites that were connected when its checkpoint was written.
RESUME_PATIENCE = 90.0
# Seconds that the end of a run waits for sites that are connected again and have not answered their greeting yet.
RETURN_PATIENCE = 30.0
# Seconds that a run on own data waits before round 1 for connected sites that cannot take part as they are; for those
# that do not answer at all it is half of wait-timeout, because reading large data takes its time.
UNFIT_PATIENCE = 120.0
SHOWN = 10  # names in a sentence


def wait_for_clients(roster: "Roster", grid: Grid, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Refresh a roster until enough clients are there; the first time, freeze it, and have them agree before.

    Before the first round that is every client of a simulated data set, or ``min-clients`` clients with data of their
    own; later it is ``min-results``. Where ``min-clients`` is 0 it is ``clients-per-round``, less the connected sites
    that could not take part for `UNFIT_PATIENCE`. A resumed run gives sites that were connected at its checkpoint some
    time, and then goes on without them; a simulation goes on with all. Before it waits, it calls `meanwhile`.

    Raises
    ------
    RunFailedError
        Too few after ``wait-timeout`` seconds, or before the first round earlier where all that is connected cannot
        take part; before the first round also where no majority of the clients belong together.
    """
    settings, start = roster.settings, time.monotonic()
    poll, next_log, said, unusable_since = Poll(), start + WAITING_LOG_INTERVAL / 5, "", None
    while True:
        before = len(roster.clients)
        roster.refresh(grid)
        if len(roster.clients) > before:
            poll.news()
        now = time.monotonic()
        needed = _needed(roster, now - start)
        if len(roster.online()) >= needed and _awaited_are_here(roster, now - start):
            roster.settle()
            if len(roster.online()) >= _needed(roster, now - start):
                try:
                    if roster.agree():
                        poll.news()
                        continue
                    _tell_of_unfit(roster)
                    roster.freeze()
                except RunFailedError as error:
                    _tell_the_end(roster, grid, error)
                    raise
                roster.started = True
                return
        meanwhile()
        unusable = not roster.started and bool(roster.connected) and roster.connected <= set(roster.refusals)
        unusable_since = (unusable_since or now) if unusable else None
        if unusable_since and now - unusable_since > BROKEN_PATIENCE:
            raise RunFailedError(_nobody_fits(roster))
        if now - start > settings.wait_timeout:
            raise RunFailedError(_too_few(roster, needed))
        if now >= next_log:
            missing = f"; missing: {few(roster.missing(), SHOWN)}" if roster.missing() else ""
            text = f"{_state(roster, needed)}{missing}; {_prospect(roster, needed, now - start)}"
            if text != said:  # a long time left is rounded, and reads the same for a while
                logger.info("waiting: %s", text)
            said, next_log = text, now + WAITING_LOG_INTERVAL
        poll.sleep(settings.wait_timeout)


def _tell_the_end(roster: "Roster", grid: Grid, error: RunFailedError) -> None:
    """Let sites with own data read why the run ends; whatever becomes of that, it ends for its own reason."""
    if not roster.own_data:
        return
    try:
        names = {client.node_id: client.name for client in roster.online()}
        roster.refresh(grid)  # those that were refused just now read that first
        tell_the_end(grid, names, error)
    except Exception as failure:  # noqa: BLE001 (a grid may raise anything)
        logger.warning("sites could not be told why the run ends (%s)", type(failure).__name__)


def wait_for_returning(roster: "Roster", grid: Grid) -> None:
    """Refresh a roster, and give clients that have just come back some time to answer; without them it goes on."""
    deadline, poll = time.monotonic() + min(RETURN_PATIENCE, roster.settings.wait_timeout), Poll()
    while True:
        roster.refresh(grid)
        returning = roster.returning()
        if not returning or time.monotonic() >= deadline:
            return
        poll.sleep(deadline - time.monotonic())


def _needed(roster: "Roster", waited: float) -> int:
    settings, simulated = roster.settings, bool(roster.clients) and not roster.own_data
    # A simulation goes on with the very same clients, or its numbers would be others than without the interruption.
    if simulated and (roster.awaited or not roster.started):
        return settings.participants
    if roster.started:
        return settings.min_results
    if not roster.own_data or settings.min_clients:
        return settings.min_clients if roster.own_data else settings.clients_per_round
    unfit = sum(waited >= patience for patience in _patience_with_unfit(roster))
    return max(settings.clients_per_round - unfit, _fewest(settings))


def _fewest(settings: Settings) -> int:
    """Clients without which no federation of own data starts, whoever else cannot take part."""
    return max(settings.min_results, min(2, settings.clients_per_round))


def _patience_with_unfit(roster: "Roster") -> list[float]:
    """Seconds after which a run that could start otherwise does without each connected site that is not ready."""
    half, refused = roster.settings.wait_timeout / 2, set(roster.refusals)
    silent = roster.connected - refused - {client.node_id for client in roster.online()}
    return [min(UNFIT_PATIENCE, half)] * len(refused) + [half] * len(silent)


def _tell_of_unfit(roster: "Roster") -> None:
    """Name the connected sites that a run starts without although it needed them, if there are some."""
    ready, settings = len(roster.online()), roster.settings
    if roster.started or not roster.own_data or settings.min_clients or ready >= settings.clients_per_round:
        return
    reasons = sorted(roster.refusals.values())
    silent = len(roster.connected) - ready - len(reasons)
    told = [*reasons, *([f"{counted(silent, 'site')} without an answer"] if silent else [])]
    logger.warning("starting with %d of %d sites, without: %s", ready, settings.clients_per_round, few(told, SHOWN))


def _awaited_are_here(roster: "Roster", waited: float) -> bool:
    """Whether a resumed run has stopped waiting for former clients."""
    roster.awaited -= {client.name for client in roster.online()}
    if roster.awaited and roster.own_data and waited > _patience(roster):
        logger.warning("going on without %s", few(sorted(roster.awaited), SHOWN))
        roster.awaited = set()
    return not roster.awaited


def _patience(roster: "Roster") -> float:
    return min(RESUME_PATIENCE, roster.settings.wait_timeout / 2)


def _prospect(roster: "Roster", needed: int, waited: float) -> str:
    """What happens next, and when, if no client comes; and what the operator can do."""
    settings, ready = roster.settings, len(roster.online())
    if ready >= needed and roster.own_data:
        return f"it goes on without the missing ones in {_duration(_patience(roster) - waited)}"
    unfit = sorted(_patience_with_unfit(roster)) if roster.own_data and not settings.min_clients else []
    missing = settings.clients_per_round - ready
    if not roster.started and ready >= _fewest(settings) and 0 < missing <= len(unfit):
        left = _duration(max(0.0, unfit[missing - 1] - waited))
        return f"it starts without those that cannot take part in {left}; to wait for all, set min-clients"
    if 0 < needed - ready <= roster.starting():
        return f"it goes on as soon as they answer, for which they have {_duration(settings.wait_timeout - waited)}"
    more = f"{needed - ready} more" if ready < needed else "the missing ones"
    text = f"the run ends in {_duration(settings.wait_timeout - waited)} unless {more} can take part"
    # The setting counts before round 1 alone, and every round needs min-results replies.
    if roster.own_data and not roster.started and ready >= settings.min_results:
        text += f"; to start with {ready}, stop it and run it again with --set min-clients={ready}"
    return text


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"


def _state(roster: "Roster", needed: int) -> str:
    here, refusals = [client.name for client in roster.online()], roster.refusals
    text = f"{len(here)} of {needed} clients are ready" + (f" ({few(here, SHOWN)})" if here else "")
    if starting := roster.starting():
        text += f", {starting}{' more' if here else ''} are starting and read their data"
    reasons, delays = sorted(refusals.values()), sorted(roster.delays)
    text += f", {len(reasons)} cannot take part ({few(reasons, SHOWN)})" if reasons else ""
    return text + (f"; {few(delays, SHOWN)}" if delays else "")


def _too_few(roster: "Roster", needed: int) -> str:
    missing = f" (missing: {few(roster.missing(), SHOWN)})" if roster.missing() else ""
    return (
        f"{_state(roster, needed)} after {roster.settings.wait_timeout:g} s: start the missing ones{missing}, or raise "
        "wait-timeout."
    )


def _nobody_fits(roster: "Roster") -> str:
    reasons = sorted(set(roster.refusals.values()))
    return (
        f"None of the {len(roster.connected)} connected clients can take part ({few(reasons, SHOWN)}): their own logs "
        f"say why; a simulation has as many nodes as clients take part, {roster.settings.participants}."
    )
