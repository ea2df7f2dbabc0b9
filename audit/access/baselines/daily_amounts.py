"""What is usual for somebody, by days: median and median distance, which few odd days move little.

Only days on which something happened count: a limit is upwards, and quiet days (weekends, holidays)
would only lower it. Amounts are compared as logarithms, for what people and jobs read varies by
factors. Pure.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

MOST_DAYS: Final = 60
"""Days with something that are remembered: three months of working days."""

_NORMAL: Final = 1.4826
"""By which a median distance is a standard deviation, were they normally distributed."""


_MORE: Final = 1.5
"""Times the second largest day: of 60 heavy-tailed days the largest is mostly less."""


class UsualAmount(msgspec.Struct, frozen=True, kw_only=True):
    """What days came to."""

    days: int
    median: float
    spread: float
    """Median distance from the median, of logarithms: 0.7 is a factor of two."""
    second: float
    """The second largest; 0 where there is one day alone."""

    def limit(self, distances: float, least_spread: float) -> float:
        """Return from where on a day is unusual.

        That is so many normal distances above the median, but at least half above the second
        largest day: what was done on two days (two evenings of an evaluation at the month's end)
        is no news.
        """
        reach = distances * max(_NORMAL * self.spread, least_spread)
        return max(math.expm1(math.log1p(self.median) + reach), _MORE * self.second)


class DailyAmounts(msgspec.Struct, gc=False, array_like=True):
    """What somebody came to on each day."""

    totals: dict[int, float] = {}
    """By day since 1970-01-01, those of longest ago first."""


def add_amount(days: DailyAmounts, day: int, amount: float) -> float:
    """Add to a day; give what it comes to now. A day of before all that is kept is let go."""
    totals = days.totals
    if day in totals:
        totals[day] += amount
        return totals[day]
    if len(totals) >= MOST_DAYS:
        oldest = next(iter(totals))
        if day < oldest:
            return amount
        del totals[oldest]
    is_late = bool(totals) and day < next(reversed(totals))
    totals[day] = amount
    if is_late:
        days.totals = dict(sorted(totals.items()))
    return amount


def raise_amount(days: DailyAmounts, day: int, amount: float) -> None:
    """Let a day come to an amount, if it came to less."""
    before = days.totals.get(day, 0.0)
    if amount > before:
        add_amount(days, day, amount - before)


def usual_of(amounts: Sequence[float]) -> UsualAmount:
    """Say what is usual, of one day at least."""
    logs = sorted(map(math.log1p, amounts))
    median = _middle(logs)
    spread = _middle(sorted(abs(value - median) for value in logs))
    second = math.expm1(logs[-2]) if len(logs) > 1 else 0.0
    return UsualAmount(days=len(logs), median=math.expm1(median), spread=spread, second=second)


def usual_before(days: DailyAmounts, day: int) -> UsualAmount | None:
    """Say what was usual on all days but this one; None where there is none."""
    amounts = [amount for each, amount in days.totals.items() if each != day]
    return usual_of(amounts) if amounts else None


def _middle(values: Sequence[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2
