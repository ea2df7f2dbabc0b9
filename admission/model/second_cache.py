"""A cache of what a gang's Pods share: it forgets all after a second."""

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

KEPT_S: Final = 1.0
"""Seconds for which something is remembered: much less than any age that counts."""

MOST_KEPT: Final = 512
"""Gangs that are created at a time."""

CacheKey = tuple[object, ...]

_Value = TypeVar("_Value")


@dataclass
class SecondCache(Generic[_Value]):
    """What was worked out in the last second, by what it was worked out from."""

    until: float = 0.0
    """Unix seconds."""
    found: dict[CacheKey, _Value] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept in this second."""
        return len(self.found) >= MOST_KEPT

    def turn_to(self, now: float) -> None:
        """Forget what is too old; a clock that was set back forgets too."""
        if not self.until - KEPT_S <= now < self.until:
            self.until, self.found = now + KEPT_S, {}

    def keep(self, key: CacheKey, value: _Value) -> None:
        """Keep a value, unless there are too many."""
        if not self.is_full:
            self.found[key] = value
