"""How much room the ledger takes, how much is left, and how many refusals may stay. Pure."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from core.base.recent_growth import RecentGrowth, seconds_left
from core.base.times import DAY_S

HOUR_S: Final = 3600.0

WINDOWS: Final = {"1h": HOUR_S, "1d": float(DAY_S)}
"""Over which growth is told, by the metrics' label: the first sees a flood, the second a trend."""

DISK_PART: Final = 0.95
"""A budget counts as no more than this part of what its file system has for the ledger."""

BUDGET_PART: Final = 0.85
"""Without a budget, this part of what its file system has for the ledger is the budget."""

LEAST_REFUSALS: Final = 10
"""Refusals that take no more than a tenth of the budget stay: else whoever makes many Pods that
are admitted would remove those of everybody."""


@dataclass(frozen=True, slots=True)
class LedgerSize:
    """What the ledger takes, in bytes."""

    used: int
    """By what is in it; room that its next records reuse is left out."""
    disk_free: int | None
    """What more it can take where it lies; None: not known (PostgreSQL)."""


@dataclass(frozen=True, slots=True)
class RoomLimits:
    """What the settings say."""

    max_refusal_bytes: int = 8 * 1024**3
    max_bytes: int | None = None
    """The budget of the whole ledger; None: a part of what its file system has, where known."""
    held_namespaces: frozenset[str] = frozenset()
    """Namespaces under hold: no refusal of theirs goes."""


@dataclass(frozen=True, slots=True)
class LedgerRoom:
    """The ledger's room at one moment, in bytes."""

    size: LedgerSize
    limits: RoomLimits
    refusals: int
    """Of the documents of refusals, those under hold too."""
    held: int = 0
    """The part of these that may not go."""

    @property
    def limit(self) -> int | None:
        """Return the budget, or what its file system has where that is less; None without one.

        The file system is measured, not said: a volume that was enlarged has what it has.
        """
        most, disk = self.limits.max_bytes, self.size.disk_free
        if disk is None:
            return most
        whole = self.size.used + disk
        return int(whole * BUDGET_PART) if most is None else min(most, int(whole * DISK_PART))

    @property
    def _least_refusals(self) -> int:
        """Return how many bytes of refusals stay, those under hold too, whatever the budget is."""
        return self.held + (self.limit or 0) // LEAST_REFUSALS

    @property
    def kept(self) -> int:
        """Return what never goes by size; without a budget all counts so."""
        if self.limit is None:
            return self.size.used
        return max(self.size.used - max(self.refusals - self._least_refusals, 0), 0)

    @property
    def free(self) -> int | None:
        """Return how much more can be kept, for which refusals go; None: not known."""
        limit = self.limit
        if limit is None:
            return self.size.disk_free
        return max(limit - self.kept, 0)

    def most_refusals(self, footprint: float = 1.0) -> int:
        """Return how many bytes of refusals may stay.

        `footprint` is what goes for each byte of a refusal's document: its indexes go too.
        """
        most, limit = self.limits.max_refusal_bytes, self.limit
        if limit is None or self.size.used <= limit:
            return most
        excess = ceil((self.size.used - limit) / footprint)
        return min(most, max(self.refusals - excess, self._least_refusals))

    @property
    def is_over(self) -> bool:
        """Return whether the ledger is larger than its budget."""
        return self.limit is not None and self.size.used > self.limit


class RoomForecast:
    """The last known room, and how it fills."""

    def __init__(self) -> None:
        self.room: LedgerRoom | None = None
        """None while it is not known."""
        self._growth = RecentGrowth(max(WINDOWS.values()), 50.0)

    def note(self, room: LedgerRoom, now: float) -> None:
        """Note what was measured at a time (monotonic, seconds)."""
        self.room = room
        self._growth.add(now, room.kept)

    def growth(self) -> dict[str, float]:
        """Return by how many bytes a second what is kept grows, by window."""
        rates = {name: self._growth.per_second(length) for name, length in WINDOWS.items()}
        return {name: rate for name, rate in rates.items() if rate is not None}

    def left_s(self) -> dict[str, float]:
        """Return in how many seconds it is full, by window; nothing where it does not grow."""
        free = self.room.free if self.room else None
        if free is None:
            return {}
        left = {name: seconds_left(free, rate) for name, rate in self.growth().items()}
        return {name: seconds for name, seconds in left.items() if seconds is not None}
