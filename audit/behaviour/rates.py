"""How often something happens, against what is usual. Pure: times come in as arguments.

A rate is a count that decays; what is compared from day to day is its highest value of a day, as a
logarithm. What is usual is the running mean of those, and how far they lie from it.
"""

import math
from typing import Final

import msgspec

HALF_LIFE_S: Final = 600.0
"""After so long an act counts half: a burst is what comes within minutes."""

_LONGEST_MEMORY: Final = 30
"""Days with acts over which a mean forgets."""

_MOST_RISE: Final = math.log(1.05)
"""A mean that has been learnt rises by at most so much a day, so that going a little further each
day takes months: from five to two hundred, 75 days with acts."""

_FREE_DAYS: Final = 10
"""Days until a mean counts as learnt."""

_LEAST_SPREAD: Final = 0.35
_PRIOR_DAYS: Final = 5.0
"""What others do weighs as much as so many days of one's own."""

_NORM_MEMORY: Final = 2000
"""Days of identities over which what is usual for all of them forgets."""


class Norm(msgspec.Struct, gc=False):
    """What is usual: over days with at least one act."""

    mean: float = 0.0
    spread: float = 0.0
    """The mean distance from the mean."""
    days: int = 0


class Rate(msgspec.Struct, gc=False):
    """How often one identity does one thing."""

    count: float = 0.0
    at: float = 0.0
    """When it was counted last. Unix seconds."""
    peak: float = 0.0
    """The highest count of today."""
    limit: float = math.inf
    """What is unusual today; infinite until the first day is closed, or `set_limit` is called."""
    usual: Norm = msgspec.field(default_factory=Norm)


def count_act(rate: Rate, at: float, weight: float) -> None:
    """Count an act at a time; one that comes a little late counts as now.

    One that comes very late begins anew: a clock that was ahead must not keep a count from fading.
    """
    passed = at - rate.at
    if passed > 0 or passed < -HALF_LIFE_S:
        rate.count *= 2.0 ** (-abs(passed) / HALF_LIFE_S)
        rate.at = at
    rate.count += weight
    rate.peak = max(rate.peak, rate.count)


def close_day(rate: Rate, norm: Norm) -> None:
    """Learn from a day that is over, if there was something; `norm` is of all such identities."""
    if not rate.peak:
        return
    level = math.log1p(min(rate.peak, rate.limit))
    """What was unusual teaches no more than the limit: bursts do not make bursts usual at once."""
    _learn(norm, math.log1p(rate.peak), _NORM_MEMORY, math.inf)
    rising = _MOST_RISE if rate.usual.days >= _FREE_DAYS else math.inf
    _learn(rate.usual, level, _LONGEST_MEMORY, rising)
    rate.peak = 0.0


def set_limit(rate: Rate, norm: Norm, least: float, distance: float) -> None:
    """Say what is unusual from now on.

    That is `distance` usual distances above the mean, and at least `least`. Where little is known
    of the identity, what is usual for others stands in.
    """
    share = rate.usual.days / (rate.usual.days + _PRIOR_DAYS)
    mean = share * rate.usual.mean + (1 - share) * norm.mean
    spread = share * rate.usual.spread + (1 - share) * norm.spread
    rate.limit = max(least, math.expm1(mean + distance * max(spread, _LEAST_SPREAD)))


def _learn(norm: Norm, level: float, memory: int, most_rise: float) -> None:
    norm.days = min(norm.days + 1, memory)
    weight = 1.0 / norm.days
    norm.spread += weight * (abs(level - norm.mean) - norm.spread) if norm.days > 1 else 0.0
    norm.mean += min(weight * (level - norm.mean), most_rise)
