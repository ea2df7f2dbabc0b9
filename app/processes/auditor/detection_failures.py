"""Tells the log that a detection fails, so that its defect can be found."""

import traceback
from collections.abc import Callable
from pathlib import PurePath

import structlog

_log = structlog.get_logger(__name__)


def telling_failures() -> Callable[[str, Exception], None]:
    """Give what tells of each detection once where it failed.

    Of the exception only its type: its text may quote what a caller chose. How often, the metric
    `sallyport_weight_failures_total` says.
    """
    told: set[tuple[str, str]] = set()

    def tell(detection: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        at = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        if (detection, at) not in told:
            told.add((detection, at))
            _log.error("a detection failed", detection=detection, error=type(error).__name__, at=at)

    return tell
