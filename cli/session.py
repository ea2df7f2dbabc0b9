"""What a command runs in: an event loop, with log lines and progress on standard error.

Standard output belongs to the command's result, which may be JSON that a program reads.
"""

import logging
import sys
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from core.base.safe_text import safe_line

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

T = TypeVar("T")

_PROGRESS_EVERY: Final = 500

_EVERY_S: Final = 5.0

_DOCUMENTS_EVERY_S: Final = 2.0


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, run in an event loop of its own."""
    import asyncio  # noqa: PLC0415 (keeps --help and completion quick)

    return asyncio.run(work)


def log_to_stderr() -> None:
    """Send warnings and errors to standard error, one line each."""
    import structlog  # noqa: PLC0415 (keeps --help and completion quick)

    structlog.configure(
        processors=[structlog.processors.add_log_level, _render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def _render(_logger: "WrappedLogger", _name: str, event: "EventDict") -> str:
    level, what = event.pop("level"), event.pop("event")
    event.pop("exc_info", None)
    fields = ", ".join(f"{key} {value}" for key, value in event.items())
    return safe_line(f"sallyport: {level}: {what}" + (f" ({fields})" if fields else ""))


def tell_progress(count: int, done: str) -> None:
    """Say on standard error how many objects are done, once in a while."""
    if count % _PROGRESS_EVERY == 0:
        sys.stderr.write(f"{count} objects {done}\n")


class Progress:
    """Says how far something has come, unless it is done quickly."""

    def __init__(self, done: str) -> None:
        """Take the word for what is done to records."""
        self._done = done
        self._began = self._said = time.monotonic()

    def tell(self, count: int, of: int) -> None:
        """Say it, if the last time is long ago."""
        now = time.monotonic()
        if now - self._said >= _EVERY_S:
            self._said = now
            rate = int(count / (now - self._began))
            sys.stderr.write(f"{count:,} of {of:,} records {self._done}, {rate:,} a second\n")
            sys.stderr.flush()


def document_progress() -> Callable[[str, int], None]:
    """Return what says on standard error how many documents of a kind are read, now and then."""
    told_at = time.monotonic()

    def note(what: str, count: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= _DOCUMENTS_EVERY_S:
            told_at = time.monotonic()
            sys.stderr.write(f"read {count:,} documents ({what})\n")

    return note
