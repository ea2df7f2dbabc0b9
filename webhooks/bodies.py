"""How many bytes of bodies the process holds at once, whoever sends them."""

from typing import Self

from core.base.errors import InvalidReviewError

SMALL_BYTES = 64 * 1024
"""A whole body up to this size is read even when nothing is left: strangers' unfinished bodies
must not keep ordinary reviews out. Each connection holds one at most."""


class NoRoomError(InvalidReviewError):
    """Too many bodies are held already; the caller may try again."""

    status = 503


class BodyBudget:
    """The bytes that may be held, and those that are."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0


class BodyShare:
    """What one request holds of a budget, until the `with` block ends."""

    __slots__ = ("_budget", "_held")

    def __init__(self, budget: BodyBudget) -> None:
        self._budget = budget
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.held -= self._held
        self._held = 0

    def take(self, size: int, *, whole: bool) -> None:
        """Hold `size` more bytes; `whole` says that nothing is to come after them.

        Raises:
            NoRoomError: the budget does not allow it.
        """
        budget = self._budget
        held = budget.held + size
        if held > budget.limit and not (whole and self._held + size <= SMALL_BYTES):
            message = f"more than {budget.limit:,} bytes of bodies are being read; try again"
            raise NoRoomError(message)
        budget.held = held
        self._held += size
