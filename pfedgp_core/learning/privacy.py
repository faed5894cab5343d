"""Differential privacy of one client's updates: clip and add noise before anything leaves; the guarantee this gives.

The guarantee is for a client as a whole: an observer of all updates of a run learns little about which data set, out of
any two, the client has. Two data sets can put a clipped update at opposite ends of the ball of radius ``dp-clip``, so
the sensitivity is 2 * ``dp-clip``. The deviation of the noise is ``dp-noise`` * ``dp-clip``. docs/privacy.md says what
is covered and what is not.
"""

import dataclasses
import importlib
import importlib.util
import math
import os
from collections import Counter
from collections.abc import Callable

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, NonFiniteError
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.wire.names import OK, PERSONAL

__all__ = ["clipped_and_noised", "private_update", "require_accountant", "secure_normal", "spent"]

BLOCK = 1 << 19  # pairs of normal numbers that are made at a time
SENSITIVITY = 2.0  # of a clipped update, in units of dp-clip, when the client's data set is replaced by any other
ACCOUNTANT = "dp_accounting"
# Whether one or the other depends on the data; all other statuses follow from the counts of the client's greeting.
TRAINED = (OK, "no-step")


def private_update(
    settings: Settings, result: UpdateResult, sent: np.ndarray, updated: np.ndarray
) -> tuple[UpdateResult, np.ndarray]:
    """Return what a client may send about a local update: a report and the vector, with ``dp-noise`` = 0 as they are.

    With noise the loss and the counters stay with the client, and an update in which every step was skipped is
    reported, and noised, like any other. A client that cannot train at all says so and has no update: its greeting
    has told as much.

    Parameters
    ----------
    settings : Settings
    result : UpdateResult
    sent, updated : float32 array [P]
        The shared vector before and after the update.

    Returns
    -------
    UpdateResult
    numpy.ndarray, float32 [P]

    Raises
    ------
    NonFiniteError
        As `clipped_and_noised`.
    """
    if settings.dp_noise == 0:
        return result, updated
    if result.status == PERSONAL:  # there is no update, and what the client trained for itself is not told
        return dataclasses.replace(result, loss=None, steps=0, gradients=0, counters=Counter()), updated
    if result.status not in TRAINED:
        return result, updated
    steps = settings.local_epochs
    told = dataclasses.replace(result, status=OK, loss=None, steps=steps, gradients=0, counters=Counter())
    return told, clipped_and_noised(sent, updated, settings.dp_clip, settings.dp_noise * settings.dp_clip)


def secure_normal(size: int) -> np.ndarray:
    """Return independent standard normal numbers from the operating system's random generator, float64 [size].

    Box-Muller on uniform numbers of 53 bits. The numbers are as fine as float64, and reach 8.6 deviations.
    """
    values = np.empty(size)
    for start in range(0, size, 2 * BLOCK):
        part = values[start : start + 2 * BLOCK]
        pairs = (len(part) + 1) // 2
        bits = np.frombuffer(os.urandom(16 * pairs), dtype=np.uint64) >> np.uint64(11)
        radius, angle = ((bits + 0.5) * 2.0**-53).reshape(2, pairs)  # strictly between 0 and 1
        radius, angle = np.sqrt(-2.0 * np.log(radius)), 2.0 * np.pi * angle
        part[:pairs] = radius * np.cos(angle)
        part[pairs:] = (radius * np.sin(angle))[: len(part) - pairs]
    return values


def clipped_and_noised(
    sent: np.ndarray,
    updated: np.ndarray,
    clip: float,
    deviation: float,
    normal: Callable[[int], np.ndarray] = secure_normal,
) -> np.ndarray:
    """Replace an update by its clipped form plus Gaussian noise; all values of the vector count as one.

    Parameters
    ----------
    sent, updated : float32 array [P]
        The shared vector before and after the update.
    clip : float
        Largest norm of the update; a longer one is shortened to it. A zero update stays zero and is noised as well.
    deviation : float
        Of the noise on each value.
    normal : callable
        Makes so many standard normal numbers.

    Returns
    -------
    numpy.ndarray, float32 [P]
        `sent` + the clipped update + the noise.

    Raises
    ------
    NonFiniteError
        The update, or the result in float32, is not finite. Nothing may be sent.
    """
    delta = updated.astype(np.float64)
    delta -= sent
    norm = float(np.linalg.norm(delta))
    if not math.isfinite(norm):
        raise NonFiniteError("The update is not finite, so it can be neither clipped nor sent.")
    if norm > clip:
        delta *= clip / norm
    for start in range(0, len(delta), 2 * BLOCK):
        part = delta[start : start + 2 * BLOCK]
        part += deviation * normal(len(part))
    delta += sent
    with np.errstate(over="ignore"):
        result = delta.astype(np.float32)
    if not np.isfinite(result).all():
        raise NonFiniteError("The noised update is beyond the range of float32: lower dp-noise or dp-clip.")
    return result


def require_accountant(settings: Settings) -> None:
    """Check, before a run with differential privacy starts, that it will be able to state its epsilon.

    Raises
    ------
    ConfigError
        ``dp-noise`` > 0, and the package dp-accounting is not installed.
    """
    if settings.dp_noise > 0 and importlib.util.find_spec(ACCOUNTANT) is None:
        raise ConfigError(
            "dp-noise > 0 needs the package dp-accounting on the server, to state the epsilon of the run: "
            "pip install 'pfedgp[privacy]'."
        )


def spent(settings: Settings, releases: int) -> float:
    """Return the epsilon, at ``dp-delta``, of a client that has been asked for so many updates.

    For data sets of the client that differ in any way, exactly (Balle and Wang 2018), under adaptive composition; no
    gain from the sampling of clients is claimed. The number is dp-accounting's.

    Parameters
    ----------
    settings : Settings
    releases : int
        Requests to train that the client may have answered, also those whose replies were refused or lost.

    Returns
    -------
    float
        Infinity without noise.

    Raises
    ------
    ConfigError
        As `require_accountant`.
    """
    if releases == 0:
        return 0.0
    if settings.dp_noise == 0:
        return math.inf
    require_accountant(settings)
    accountant = importlib.import_module(ACCOUNTANT)
    # So many Gaussian mechanisms of one deviation are one of a deviation smaller by the square root of their number.
    deviation = settings.dp_noise / SENSITIVITY / math.sqrt(releases)
    return float(accountant.get_epsilon_gaussian(deviation, settings.dp_delta))
