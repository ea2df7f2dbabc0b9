"""What every sink is, and the two ways in which it can fail."""

from collections.abc import Sequence
from typing import Protocol

from audit.notifications.notice import Notice
from core.base.errors import SallyportError


class SinkAwayError(SallyportError):
    """A sink does not take notices now: they are sent again, for hours.

    `retry_after_s` is what it asked to wait, 0 where it said nothing. Nothing that it wrote is
    quoted, nor any part of its address that is secret.
    """

    def __init__(self, message: str, retry_after_s: float = 0.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class NoticeRefusedError(SallyportError):
    """A sink refuses these notices for good: sending them again would end alike."""


class Sink(Protocol):
    """Takes notices to one place, over connections that it keeps."""

    @property
    def most(self) -> int:
        """Notices of one `send`, at most."""

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return how many of the first ones go out together, as one message; at least one.

        A failure then repeats nothing that was acknowledged. Of `most` at most, there is one.
        """

    async def send(self, notices: Sequence[Notice]) -> None:
        """Return when all of them were acknowledged.

        Raises:
            SinkAwayError: send all of them again later.
            NoticeRefusedError: at least one of them is refused for good.
        """

    async def close(self) -> None:
        """Close every connection."""
