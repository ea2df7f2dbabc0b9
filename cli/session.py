"""What a command runs in: an event loop, and log lines for a person on standard error.

Standard output belongs to the command's result, which may be JSON that a program reads.
"""

import logging
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from core.base.safe_text import safe_line

if TYPE_CHECKING:
    from structlog.typing import EventDict, WrappedLogger

T = TypeVar("T")


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
