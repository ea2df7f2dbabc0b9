"""Bounded sets and lists: a report's memory does not grow with the ledger."""

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_KEYS: Final = 20_000
"""Rows that are told apart while a report is made: principals with stores, reasons, reaches."""


class BoundedRows(Generic[K, V]):
    """Rows by key, at most so many; what comes with a key beyond them is counted and gets none."""

    def __init__(self, make: Callable[[K], V], most: int = MOST_KEYS) -> None:
        self._make = make
        self._most = most
        self._rows: dict[K, V] = {}
        self.overflowed = 0

    def get(self, key: K) -> V | None:
        """Return the row of a key, new or not; None where there is no room for it."""
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= self._most:
                self.overflowed += 1
                return None
            row = self._rows[key] = self._make(key)
        return row

    def items(self) -> Iterable[tuple[K, V]]:
        """Return all rows."""
        return self._rows.items()

    def __len__(self) -> int:
        """Count them."""
        return len(self._rows)


class DistinctTexts:
    """Distinct texts: the first so many are kept; of the rest it is known that there are."""

    __slots__ = ("_kept", "_most", "more")

    def __init__(self, most: int = 64) -> None:
        self._kept: set[str] = set()
        self._most = most
        self.more = False

    def add(self, text: str) -> None:
        """Note a text; the empty one is none."""
        if not text or text in self._kept:
            return
        if len(self._kept) < self._most:
            self._kept.add(text)
        else:
            self.more = True

    def __len__(self) -> int:
        """Count what is kept: at least so many there are."""
        return len(self._kept)

    def list(self, most: int | None = None) -> list[str]:
        """Return the first, in order."""
        return sorted(self._kept)[:most]


def cut_rows(rows: Iterable[V], most: int) -> tuple[list[V], int]:
    """Return the first rows, and how many more there are."""
    whole = list(rows)
    return whole[:most], max(len(whole) - most, 0)
